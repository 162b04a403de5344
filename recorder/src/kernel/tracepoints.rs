//! The tracepoints of this kernel, with their parameters.

use std::collections::HashMap;

use libbpf_rs::btf::types::{Func, FuncProto, Ptr, Struct, Typedef};
use libbpf_rs::btf::{Btf, TypeId};
use libbpf_rs::ReferencesType as _;

use super::choice::{self, Tracepoint};

/// What the names of a tracepoint's type begin with.
const PREFIX: &str = "btf_trace_";

/// The kernel's own tracepoints, found in one pass over its types: there are some 150,000, and a look-up by name walks
/// them all.
pub struct Tracepoints<'a> {
    btf: &'a Btf<'static>,
    found: HashMap<String, Typedef<'a>>,
}

impl<'a> Tracepoints<'a> {
    pub fn new(btf: &'a Btf<'static>) -> Tracepoints<'a> {
        let mut found = HashMap::new();
        for typedef in btf.type_by_kind::<Typedef<'a>>() {
            let name = typedef.name().and_then(|name| name.to_str());
            if let Some(name) = name.and_then(|name| name.strip_prefix(PREFIX)) {
                found.insert(name.to_owned(), typedef);
            }
        }
        Tracepoints { btf, found }
    }

    /// What the kernel's type information says of a tracepoint, its own or that of a filesystem's module.
    pub fn get(&self, name: &str) -> Tracepoint {
        let Some(typedef) = self.found.get(name) else {
            return match choice::module_of(name)
                .is_some_and(|module| is_in(module, &format!("{PREFIX}{name}\0")))
            {
                true => Tracepoint::Has(None),
                false => Tracepoint::Missing,
            };
        };
        let function = Ptr::try_from(typedef.referenced_type())
            .ok()
            .and_then(|pointer| FuncProto::try_from(pointer.referenced_type()).ok());
        // The first is the kernel's own.
        Tracepoint::Has(function.map(|f| f.iter().skip(1).map(|p| self.pointed_to(p.ty)).collect()))
    }

    /// The same of a function of the kernel, or of a module that is loaded (whose parameters cannot be read).
    pub fn function(&self, name: &str, module: &str) -> Tracepoint {
        let Some(function) = self.btf.type_by_name::<Func<'a>>(name) else {
            return match is_in(module, &format!("{name}\0")) {
                true => Tracepoint::Has(None),
                false => Tracepoint::Missing,
            };
        };
        let prototype = FuncProto::try_from(function.referenced_type()).ok();
        Tracepoint::Has(prototype.map(|f| f.iter().map(|p| self.pointed_to(p.ty)).collect()))
    }

    /// The structure that a parameter points to; "-" for anything else.
    fn pointed_to(&self, parameter: TypeId) -> String {
        self.btf
            .type_by_id::<Ptr<'_>>(parameter)
            .map(|pointer| pointer.referenced_type().skip_mods_and_typedefs())
            .and_then(|to| Struct::try_from(to).ok())
            .and_then(|to| to.name().map(|name| name.to_string_lossy().into_owned()))
            .unwrap_or_else(|| "-".into())
    }
}

/// Whether the types of a module hold this name, which ends with a zero.
pub fn is_in(module: &str, name: &str) -> bool {
    std::fs::read(format!("/sys/kernel/btf/{module}")).is_ok_and(|types| {
        types
            .windows(name.len())
            .any(|window| window == name.as_bytes())
    })
}
