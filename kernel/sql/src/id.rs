//! Ids of rows and enums of columns: macros that declare them.

use crate::value::{ColumnField, ColumnType, SqlValue};

/// Id of a row, as text.
pub trait TextId: From<String> {
    /// Returns the id as text.
    fn as_str(&self) -> &str;
}

impl<T: TextId> ColumnField for Option<T> {
    const KIND: ColumnType = ColumnType::Text;
    fn to_value(&self) -> SqlValue {
        SqlValue::Text(self.as_ref().map(|id| id.as_str().to_string()))
    }
    fn from_value(value: SqlValue) -> Option<Option<T>> {
        let text = Option::<String>::from_value(value)?;
        Some(text.map(T::from))
    }
}

/// Declares ids of rows, a type for each table, so that they cannot be confused.
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<T: Into<String>> From<T> for $name {
            fn from(text: T) -> $name {
                $name(text.into())
            }
        }

        impl From<&$name> for $crate::key::RowKey {
            fn from(id: &$name) -> $crate::key::RowKey {
                $crate::key::RowKey::of([id.as_str()])
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl $crate::value::ColumnField for $name {
            const KIND: $crate::value::ColumnType = $crate::value::ColumnType::Text;
            fn to_value(&self) -> $crate::value::SqlValue {
                $crate::value::SqlValue::Text(Some(self.0.clone()))
            }
            fn from_value(value: $crate::value::SqlValue) -> Option<$name> {
                <String as $crate::value::ColumnField>::from_value(value).filter(|text| !text.is_empty()).map($name)
            }
        }

        impl $crate::id::TextId for $name {
            fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&$name> for $crate::value::SqlValue {
            fn from(id: &$name) -> $crate::value::SqlValue {
                $crate::value::ColumnField::to_value(id)
            }
        }
    )*};
}

/// Declares enums for columns with a fixed set of values.
#[macro_export]
macro_rules! stored_enums {
    ($($(#[$doc:meta])* $name:ident { $($(#[$what:meta])* $word:ident = $text:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$what])* $word,)* }

        impl $name {
            /// Returns the value as stored.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$word => $text,)* }
            }
        }

        impl $crate::value::ColumnField for $name {
            const KIND: $crate::value::ColumnType = $crate::value::ColumnType::Text;
            fn to_value(&self) -> $crate::value::SqlValue {
                $crate::value::SqlValue::from(self.as_str())
            }
            fn from_value(value: $crate::value::SqlValue) -> Option<$name> {
                match value.as_text()? { $($text => Some($name::$word),)* _ => None }
            }
        }

        impl From<$name> for $crate::value::SqlValue {
            fn from(word: $name) -> $crate::value::SqlValue {
                $crate::value::ColumnField::to_value(&word)
            }
        }
    )*};
}
