/** Python around API-Bank's classes. A string of JSON is one of Python, too. */

/** Prints what the classes of a file are, as JSON, from their text alone. */
export function classesProgram(source: string): string {
  return `import ast as _ast, json as _json
_found = []
for _one in _ast.parse(${JSON.stringify(source)}).body:
    if not isinstance(_one, _ast.ClassDef):
        continue
    _said, _call = {}, None
    for _part in _one.body:
        if isinstance(_part, _ast.Assign) and isinstance(_part.targets[0], _ast.Name):
            try:
                _said[_part.targets[0].id] = _ast.literal_eval(_part.value)
            except ValueError:
                pass
        if isinstance(_part, _ast.FunctionDef) and _part.name == "call":
            _call = _part
    if _call is None or not isinstance(_said.get("input_parameters"), dict):
        continue
    _names = [_each.arg for _each in _call.args.args][1:]
    _bare = _names[: len(_names) - len(_call.args.defaults)]
    _given = _said["input_parameters"]
    _found.append({
        "name": _one.name,
        "description": _said.get("description", ""),
        "parameters": _given,
        "required": [_each for _each in _given if _each in _bare],
    })
print(_json.dumps(_found))
`;
}

/** The input of a program. */
export interface ApiBankRun {
  readonly files: Readonly<Record<string, string>>;
  readonly homes: Readonly<Record<string, string>>;
  readonly databases: Readonly<Record<string, unknown>>;
  /** In order; the last is answered. */
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
}

/**
 * Makes calls and prints the result of the last one, in the release's form. Output of the classes is not
 * shown.
 */
export function runProgram(run: ApiBankRun): string {
  return `import contextlib as _contextlib, importlib as _importlib, inspect as _inspect, io as _io, json as _json, sys as _sys
import importlib.abc, importlib.machinery
_run = _json.loads(${JSON.stringify(JSON.stringify(run))})


class _Files(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The modules of the package apis, whose base class need not be there."""

    def find_spec(self, name, path=None, target=None):
        if name == "apis":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        if name.startswith("apis.") and (name[5:] in _run["files"] or name == "apis.api"):
            return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__[5:]
        source = _run["files"].get(name, "class API: pass" if name == "api" else "")
        exec(compile(source, name + ".py", "exec"), module.__dict__)


_sys.meta_path.insert(0, _Files())


def _instance(name):
    found = getattr(_importlib.import_module("apis." + _run["homes"][name]), name)
    given = {}
    wanted = _inspect.signature(found.__init__).parameters
    if "init_database" in wanted:
        given["init_database"] = _run["databases"].setdefault(getattr(found, "database_name", name), {})
    if "token_checker" in wanted and "CheckToken" in _run["homes"] and name != "CheckToken":
        given["token_checker"] = _instance("CheckToken")
    return found(**given)


def _made(call):
    name, given = call["name"], call["arguments"]
    said = {"success": True, "tool_name": name, "arguments": given, "result": None, "error": None}
    try:
        result = _instance(name).call(**given)
        said["result"] = result.get("output") if isinstance(result, dict) and "output" in result else result
        said["error"] = result.get("exception") if isinstance(result, dict) else None
    except Exception as error:
        said["error"] = f"{type(error).__name__}: {error}"
    said["success"] = said["error"] is None
    return said


with _contextlib.redirect_stdout(_io.StringIO()):
    _said = [_made(call) for call in _run["calls"]][-1]
print(_json.dumps(_said, default=str))
`;
}
