"""What transformers renders: the environment of its `_compile_jinja_template` (5.8) with jinja2 alone.

python oracle.py templates FOLDER CONVERSATIONS.jsonl   every template over every conversation
python oracle.py sources SOURCES.jsonl                  each "source" of the file, with the variables of its first line
python oracle.py wheel FOLDER                           downloads trl 1.16.0 into FOLDER once; its templates' folder

The last line printed is JSON: texts, or null where rendering is refused. Where a text holds an address of Python's memory it is "@".
`--transformers` uses the function of transformers itself.
"""
import datetime
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
WHEEL = "c4726e139dd40e1a41661511c639c8a68416782b2e3e8c0befebd77bb7ba0396"
NOW = datetime.datetime(2026, 11, 22, 12, 0, 0)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_inside"), [], [], body).set_lineno(line)

    def _inside(self, caller):
        return caller()


def fail(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = fail
    return env


def compiler():
    if "--transformers" in sys.argv:
        from transformers.utils.chat_template_utils import _compile_jinja_template

        return _compile_jinja_template
    return environment().from_string


def rendered(make, variables):
    try:
        text = make().render(**variables)
    except Exception:
        return None
    return "@" if re.search(r"\bat 0x[0-9a-f]+", text, re.I) else text


def templates(folder, conversations):
    compile_template = compiler()
    lines = [json.loads(line) for line in open(conversations, encoding="utf-8")]
    out = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.jinja"))):
        source = open(path, encoding="utf-8", newline="").read()
        made = []

        def make():
            if not made:
                made.append(compile_template(source))
            return made[0]

        out[os.path.basename(path)] = {
            line["name"]: rendered(
                make,
                {
                    **TOKENS,
                    "strftime_now": NOW.strftime,
                    "documents": None,
                    **line["conversation"]["vars"],
                    "messages": line["conversation"]["messages"],
                    "tools": line["conversation"]["tools"],
                    "add_generation_prompt": line["conversation"]["gen"],
                },
            )
            for line in lines
        }
    return out


def sources(path):
    compile_template = compiler()
    first, *lines = [json.loads(line) for line in open(path, encoding="utf-8")]
    return [
        rendered(lambda: compile_template(line["source"]), json.loads(first["context"])) for line in lines
    ]


def wheel(folder):
    """72 chat templates of real models; they are others' and lie in the user's cache alone."""
    there = os.path.join(folder, "trl", "chat_templates")
    if not os.path.isdir(there):
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as fresh:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", fresh, "trl==1.16.0"]
            subprocess.run(pip, check=True, stdout=sys.stderr, timeout=120)
            path = os.path.join(fresh, "trl-1.16.0-py3-none-any.whl")
            digest = hashlib.sha256(open(path, "rb").read()).hexdigest()
            if digest != WHEEL:
                raise SystemExit(f"{path} is another file: {digest}")
            with zipfile.ZipFile(path) as whole:
                names = [name for name in whole.namelist() if name.startswith("trl/chat_templates/")]
                whole.extractall(os.path.join(fresh, "out"), names)
            os.rename(os.path.join(fresh, "out", "trl"), os.path.join(folder, "trl"))
    return there


arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
print(json.dumps({"templates": templates, "sources": sources, "wheel": wheel}[arguments[0]](*arguments[1:])))
