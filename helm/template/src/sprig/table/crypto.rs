//! Password, cipher, key and certificate functions.

use std::any::Any;
use std::net::IpAddr;

use super::{FunctionResult, FunctionTable, bytes, int, sig, system_inputs, text};
use crate::error::Error;
use crate::exec::Execution;
use crate::format::sprint;
use crate::sprig::SprigVersion;
use crate::sprig::crypto::certificate::{self, Certificate, CertificateRequest};
use crate::sprig::crypto::key::{self, PrivateKey};
use crate::sprig::crypto::{bcrypt, decrypt_aes, derive_password, encrypt_aes};
use crate::value::{HostObject, NamedType, ReflectType, TypeShape, Value};

/// Sprig's `certificate`.
const CERTIFICATE: ReflectType = ReflectType(&TypeShape::Named(&NamedType {
    name: "sprig.certificate",
    underlying: ReflectType(&TypeShape::Struct),
    methods: &[],
}));

/// Steps charged for a deliberately slow hash, to limit how many a template can compute.
const HASH_STEPS: u64 = 200_000;
/// Steps charged for generating a key, which takes longer.
const KEY_STEPS: u64 = 1_000_000;

impl HostObject for Certificate {
    fn go_type(&self) -> ReflectType {
        CERTIFICATE
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "Cert" => Some(Value::string(&self.cert)),
            "Key" => Some(Value::string(&self.key)),
            _ => None,
        }
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![("Cert", Value::string(&self.cert)), ("Key", Value::string(&self.key))]
    }

    fn equals(&self, other: &dyn HostObject) -> bool {
        other.as_any().downcast_ref::<Certificate>().is_some_and(|other| other == self)
    }
}

pub(super) fn add(table: &mut FunctionTable) {
    let with_ed25519 = table.sprig == SprigVersion::V3;
    table.add_v3(&["bcrypt"], sig!(STRING => STRING), |execution, args| hash(execution, bytes(args, 0)));
    table.add_v3(&["htpasswd"], sig!(STRING, STRING => STRING), |execution, args| {
        let name = bytes(args, 0);
        if name.contains(&b':') {
            return Ok(Value::string([b"invalid username: ", name].concat()));
        }
        let hashed = hash(execution, bytes(args, 1))?;
        Ok(Value::string([name, b":", hashed.as_str().map_or(&[], |hash| hash.as_bytes())].concat()))
    });
    let derive = sig!(UINT32, STRING, STRING, STRING, STRING => STRING);
    table.add(&["derivePassword"], derive, |execution, args| {
        execution.charge(HASH_STEPS)?;
        let counter = args[0].as_u64().and_then(|counter| u32::try_from(counter).ok()).unwrap_or(0);
        Ok(derive_password(counter, &text(args, 1), bytes(args, 2), bytes(args, 3), bytes(args, 4)).into())
    });
    table.add(&["encryptAES"], sig!(STRING, STRING => STRING), |execution, args| {
        if bytes(args, 1).is_empty() {
            return Ok("".into());
        }
        Ok(encrypt_aes(bytes(args, 0), bytes(args, 1), system_inputs(execution).entropy()?).into())
    });
    table.add(&["decryptAES"], sig!(STRING, STRING => STRING), |_, args| {
        Ok(Value::string(decrypt_aes(bytes(args, 0), bytes(args, 1)).map_err(Error::call)?))
    });
    table.add(&["genPrivateKey"], sig!(STRING => STRING), move |execution, args| {
        execution.charge(KEY_STEPS)?;
        Ok(key::generate(&text(args, 0), with_ed25519, system_inputs(execution).entropy()?).into())
    });
    table.add(&["buildCustomCert"], sig!(STRING, STRING => CERTIFICATE), |_, args| {
        Ok(Value::from_object(certificate::custom(bytes(args, 0), bytes(args, 1)).map_err(Error::call)?))
    });
    add_certificates(table);
}

fn hash(execution: &mut Execution<'_>, password: &[u8]) -> FunctionResult {
    execution.charge(HASH_STEPS)?;
    Ok(bcrypt(password, system_inputs(execution).entropy()?).into())
}

/// Generates a key, or decodes the given one from PEM.
fn key_of(execution: &mut Execution<'_>, given: Option<&Value>) -> Result<PrivateKey, Error> {
    execution.charge(KEY_STEPS)?;
    match given {
        Some(pem) => {
            let pem = pem.as_str().map(|pem| pem.to_text().into_owned()).unwrap_or_default();
            PrivateKey::from_pem(&pem).map_err(|why| Error::call(format!("parsing private key: {why}")))
        }
        None => Ok(PrivateKey::for_certificate(system_inputs(execution).entropy()?)),
    }
}

fn request<'a>(execution: &Execution<'_>, args: &'a [Value], authority: bool) -> Result<CertificateRequest<'a>, Error> {
    let now = system_inputs(execution).now()?;
    if authority {
        return Ok(CertificateRequest {
            name: bytes(args, 0),
            addresses: Vec::new(),
            names: Vec::new(),
            days: int(args, 1),
            now,
            authority,
        });
    }
    Ok(CertificateRequest {
        name: bytes(args, 0),
        addresses: addresses(&args[1])?,
        names: names(&args[2])?,
        days: int(args, 3),
        now,
        authority,
    })
}

fn addresses(value: &Value) -> Result<Vec<IpAddr>, Error> {
    let parse = |item: Value| {
        let Some(written) = item.as_str() else {
            return Err(Error::call(format!("error parsing ip: {} is not a string", shown(&item))));
        };
        let wrong = || Error::call(format!("error parsing ip: {written}"));
        written.to_text().parse::<IpAddr>().map_err(|_| wrong())
    };
    value.elements().unwrap_or_default().into_iter().map(parse).collect()
}

fn names(value: &Value) -> Result<Vec<String>, Error> {
    let read = |item: Value| {
        let wrong = || Error::call(format!("error processing alternate dns name: {} is not a string", shown(&item)));
        item.as_str().map(|name| name.to_text().into_owned()).ok_or_else(wrong)
    };
    value.elements().unwrap_or_default().into_iter().map(read).collect()
}

fn shown(value: &Value) -> String {
    String::from_utf8_lossy(&sprint(std::slice::from_ref(value))).into_owned()
}

fn certificate_result(certificate: Result<Certificate, String>) -> FunctionResult {
    Ok(Value::from_object(certificate.map_err(Error::call)?))
}

fn self_signed(execution: &mut Execution<'_>, args: &[Value], authority: bool, pem: Option<&Value>) -> FunctionResult {
    // The order of checks is Go's: the given key first, then the request, and only then the generation of a key.
    let given = pem.map(|pem| key_of(execution, Some(pem))).transpose()?;
    let request = request(execution, args, authority)?;
    let key = given.map_or_else(|| key_of(execution, None), Ok)?;
    certificate_result(certificate::self_signed(&request, &key, system_inputs(execution).entropy()?))
}

fn signed(execution: &mut Execution<'_>, args: &[Value], pem: Option<&Value>) -> FunctionResult {
    let given = pem.map(|pem| key_of(execution, Some(pem))).transpose()?;
    let authority = args[4].object::<Certificate>().ok_or_else(super::nil_dereference)?;
    certificate::check_authority(authority).map_err(Error::call)?;
    let request = request(execution, args, false)?;
    let key = given.map_or_else(|| key_of(execution, None), Ok)?;
    certificate_result(certificate::signed(&request, &key, authority, system_inputs(execution).entropy()?))
}

fn add_certificates(table: &mut FunctionTable) {
    table.add(&["genCA"], sig!(STRING, INT => CERTIFICATE), |execution, args| self_signed(execution, args, true, None));
    table.add_v3(&["genCAWithKey"], sig!(STRING, INT, STRING => CERTIFICATE), |execution, args| {
        self_signed(execution, args, true, Some(&args[2]))
    });
    table.add(&["genSelfSignedCert"], sig!(STRING, LIST, LIST, INT => CERTIFICATE), |execution, args| {
        self_signed(execution, args, false, None)
    });
    let with_key = sig!(STRING, LIST, LIST, INT, STRING => CERTIFICATE);
    table.add_v3(&["genSelfSignedCertWithKey"], with_key, |execution, args| {
        self_signed(execution, args, false, Some(&args[4]))
    });
    let by_authority = sig!(STRING, LIST, LIST, INT, CERTIFICATE => CERTIFICATE);
    table.add(&["genSignedCert"], by_authority, |execution, args| signed(execution, args, None));
    let with_both = sig!(STRING, LIST, LIST, INT, CERTIFICATE, STRING => CERTIFICATE);
    table.add_v3(&["genSignedCertWithKey"], with_both, |execution, args| signed(execution, args, Some(&args[5])));
}
