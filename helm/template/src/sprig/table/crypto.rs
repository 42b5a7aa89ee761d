//! Passwords, ciphers, keys and certificates.

use std::any::Any;
use std::net::IpAddr;

use super::{Answer, Table, ambient, bytes, int, sig, text};
use crate::error::Error;
use crate::exec::Execution;
use crate::format::sprint;
use crate::sprig::Sprig;
use crate::sprig::crypto::certificate::{self, Certificate, Request};
use crate::sprig::crypto::key::{self, PrivateKey};
use crate::sprig::crypto::{bcrypt, decrypt_aes, derive_password, encrypt_aes};
use crate::value::{Named, Object, Shape, Type, Value};

/// Sprig's `certificate`.
const CERTIFICATE: Type =
    Type(&Shape::Named(&Named { name: "sprig.certificate", underlying: Type(&Shape::Struct), methods: &[] }));

/// What a hash that is slow on purpose costs, in steps: templates may not make them without end.
const HASH_STEPS: u64 = 200_000;
/// What a key costs, which takes longer.
const KEY_STEPS: u64 = 1_000_000;

impl Object for Certificate {
    fn go_type(&self) -> Type {
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

    fn equals(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref::<Certificate>().is_some_and(|other| other == self)
    }
}

pub(super) fn add(table: &mut Table) {
    let with_ed25519 = table.sprig == Sprig::V3;
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
        Ok(encrypt_aes(bytes(args, 0), bytes(args, 1), ambient(execution).entropy()?).into())
    });
    table.add(&["decryptAES"], sig!(STRING, STRING => STRING), |_, args| {
        Ok(Value::string(decrypt_aes(bytes(args, 0), bytes(args, 1)).map_err(Error::call)?))
    });
    table.add(&["genPrivateKey"], sig!(STRING => STRING), move |execution, args| {
        execution.charge(KEY_STEPS)?;
        Ok(key::generate(&text(args, 0), with_ed25519, ambient(execution).entropy()?).into())
    });
    table.add(&["buildCustomCert"], sig!(STRING, STRING => CERTIFICATE), |_, args| {
        Ok(Value::from_object(certificate::custom(bytes(args, 0), bytes(args, 1)).map_err(Error::call)?))
    });
    add_certificates(table);
}

fn hash(execution: &mut Execution<'_>, password: &[u8]) -> Answer {
    execution.charge(HASH_STEPS)?;
    Ok(bcrypt(password, ambient(execution).entropy()?).into())
}

/// Where the key comes from: a random one, or one given in PEM.
fn key_of(execution: &mut Execution<'_>, given: Option<&Value>) -> Result<PrivateKey, Error> {
    execution.charge(KEY_STEPS)?;
    match given {
        Some(pem) => {
            let pem = pem.as_str().map(|pem| pem.to_text().into_owned()).unwrap_or_default();
            PrivateKey::from_pem(&pem).map_err(|why| Error::call(format!("parsing private key: {why}")))
        }
        None => Ok(PrivateKey::for_certificate(ambient(execution).entropy()?)),
    }
}

fn request<'a>(execution: &Execution<'_>, args: &'a [Value], authority: bool) -> Result<Request<'a>, Error> {
    let now = ambient(execution).now()?;
    if authority {
        return Ok(Request {
            name: bytes(args, 0),
            addresses: Vec::new(),
            names: Vec::new(),
            days: int(args, 1),
            now,
            authority,
        });
    }
    Ok(Request {
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

fn made(certificate: Result<Certificate, String>) -> Answer {
    Ok(Value::from_object(certificate.map_err(Error::call)?))
}

fn self_signed(execution: &mut Execution<'_>, args: &[Value], authority: bool, pem: Option<&Value>) -> Answer {
    // A key that was given is looked at first, a request that is wrong before a key is made.
    let given = pem.map(|pem| key_of(execution, Some(pem))).transpose()?;
    let request = request(execution, args, authority)?;
    let key = given.map_or_else(|| key_of(execution, None), Ok)?;
    made(certificate::self_signed(&request, &key, ambient(execution).entropy()?))
}

fn signed(execution: &mut Execution<'_>, args: &[Value], pem: Option<&Value>) -> Answer {
    let given = pem.map(|pem| key_of(execution, Some(pem))).transpose()?;
    let authority = args[4].object::<Certificate>().ok_or_else(super::nil_dereference)?;
    certificate::check_authority(authority).map_err(Error::call)?;
    let request = request(execution, args, false)?;
    let key = given.map_or_else(|| key_of(execution, None), Ok)?;
    made(certificate::signed(&request, &key, authority, ambient(execution).entropy()?))
}

fn add_certificates(table: &mut Table) {
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
