/**
 * What `millrace completion SHELL` prints: a function that asks `millrace completion SHELL -- WORDS…` for
 * candidates, and lets the shell complete file names if there are none. And the form each shell expects.
 */
import type { Candidate } from './spot.ts';

interface Shell {
  readonly script: string;
  /** A line for each candidate. */
  line(candidate: Candidate): string;
  /** Where to put the script. */
  readonly use: string;
}

/** No space follows a word that continues (`temperature=`, `first.`). */
const bash = `_millrace() {
  local line=\${COMP_LINE:0:COMP_POINT} word found=()
  local words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  word=\${words[\${#words[@]} - 1]}
  # Bash completes only what follows the last of these characters.
  local head=
  [[ $word == *[=:]* ]] && head=\${word%"\${word##*[=:]}"}
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("\${line#"$head"}")
  done < <("\${words[0]}" completion bash -- "\${words[@]:1}" 2> /dev/null)
  [[ \${COMPREPLY[0]} == *[=.] ]] && compopt -o nospace
}
complete -o default -F _millrace millrace
`;

const zsh = `#compdef millrace
_millrace() {
  local -a found suffix
  found=("\${(@f)$("\${words[1]}" completion zsh -- "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  if [[ -z $found ]]; then
    _files
    return
  fi
  [[ \${found[1]%%:*} == *[=.] ]] && suffix=(-S '')
  _describe millrace found $suffix
}
if [[ $funcstack[1] == _millrace ]]; then
  _millrace "$@"
else
  compdef _millrace millrace
fi
`;

const fish = `function __millrace
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l word (commandline -ct)
    set -l found ($program completion fish -- $words "$word" 2> /dev/null)
    if test (count $found) -gt 0
        string join \\n -- $found
    else
        __fish_complete_path "$word"
    end
end
complete -c millrace -f -a '(__millrace)'
`;

export const shells: Readonly<Record<string, Shell>> = {
  bash: {
    script: bash,
    line: ({ word }) => word,
    use: 'eval "$(millrace completion bash)"    # in ~/.bashrc',
  },
  zsh: {
    script: zsh,
    line: ({ word, about }) => `${word.replaceAll(':', '\\:')}:${about}`,
    use: 'eval "$(millrace completion zsh)"     # in ~/.zshrc, after compinit',
  },
  fish: {
    script: fish,
    line: ({ word, about }) => (about === '' ? word : `${word}\t${about}`),
    use: 'millrace completion fish > ~/.config/fish/completions/millrace.fish',
  },
};
