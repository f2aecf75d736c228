/**
 * How to run a program, as Python text, both in the sandbox and on a server.
 *
 * The value of a last expression is printed unless it is None (or from a call of `print`). An error is one
 * line: the last one that Python would print.
 */
export const programPython = `
import ast, traceback


def shown(tree):
    """The last expression of a program, taken off it; None when there is none to show."""
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        return None
    value = tree.body[-1].value
    if isinstance(value, ast.Call) and getattr(value.func, 'id', None) == 'print':
        return None
    tree.body.pop()
    return ast.Expression(value)


def message(error, text_max):
    lines = traceback.TracebackException.from_exception(error).format_exception_only()
    line = next((line for line in lines if not line.startswith(' ')), 'Exception')
    return line[:text_max].encode('utf-8', 'replace')


def run_program(source, main, print_none, text_max):
    """Runs a program in the namespace \`main\`. Gives its error, cut and as bytes; None when there is none."""
    try:
        tree = ast.parse(source, '<string>')
        last = shown(tree)
        exec(compile(tree, '<string>', 'exec', dont_inherit=True), main)
        if last is not None:
            value = eval(compile(last, '<string>', 'eval', dont_inherit=True), main)
            if value is not None or print_none:
                print(value)
    except SystemExit as stop:
        if stop.code is not None and stop.code != 0:
            return message(stop, text_max)
    except BaseException as error:
        return message(error, text_max)
    return None
`;
