import ArgumentParser

/// The scripts that a shell loads to complete the command, from argument-parser's generator.
enum CompletionScripts {
  /// Returns a shell's script.
  ///
  /// The generated scripts of bash and zsh read a colon as the end of a word or of a candidate, and
  /// bash expands candidates as it expands words of a script. URIs and ports have colons, and other
  /// programs choose the names of ports, so those functions are replaced.
  static func script(for shell: CompletionShell) -> String {
    let generated = Cuejack.completionScript(for: shell)
    let (own, last): (String, String)
    switch shell {
    case .bash: (own, last) = (bash, "complete -o filenames -F _cuejack cuejack")
    case .zsh: (own, last) = (zsh, #"if [[ "${funcstack[1]}" = _cuejack ]]; then"#)
    default: return generated
    }
    guard let mark = generated.ranges(of: last).last else { return generated }
    let rest =
      shell == .bash
      ? "complete -o filenames -F __cuejack_words cuejack\n" : generated[mark.lowerBound...]
    return generated[..<mark.lowerBound] + own + rest
  }

  private static let bash = #"""
    # The candidates of cuejack itself are neither expanded nor file names.
    __cuejack_add_completions() {
        local completion
        if [[ "${1}" = -W ]]; then
            are_words=true
            while IFS='' read -r completion; do
                [[ -n "${completion}" && "${completion}" = "${cur}"* ]] && COMPREPLY+=("${completion}")
            done <<<"${2}"
        else
            while IFS='' read -r completion; do
                COMPREPLY+=("${completion}")
            done < <(IFS=$'\n' compgen "${@}" -- "${cur}")
        fi
    }

    # Sets plain to a word without its quotation marks and backslashes.
    __cuejack_unquote() {
        plain="${1}"
        case "${plain}" in
        \'*) plain="${plain#\'}" ;;
        \"*) plain="${plain#\"}" ;;
        *) plain="${plain//\\/}" ;;
        esac
    }

    # Joins the words that bash has split at colons, equals signs and at signs, and calls the generated function.
    __cuejack_words() {
        local -a joined=()
        local rest="${COMP_LINE}" text word="" piece="" plain
        local -i i last=-1
        for ((i = 0; i <= COMP_CWORD; i++)); do
            word="${COMP_WORDS[i]}"
            text="${rest#"${rest%%[![:space:]]*}"}"
            if ((last < 0)) || [[ "${text}" != "${rest}" ]]; then
                joined[++last]="${word}"
            elif [[ "${word}" = = && "${joined[last]}" = --[a-z]* && "${joined[last]}" != *[!-a-z]* ]]; then
                joined[++last]=""
            else
                joined[last]+="${word}"
            fi
            rest="${text#"${word}"}"
        done
        # What readline replaces begins after the last character at which bash splits.
        [[ -z "${word}" || "${word}" = *[!:=@]* ]] && piece="${word}"
        local -a COMP_WORDS=("${joined[@]}")
        local -i COMP_CWORD="${last}"
        local are_words=false
        __cuejack_unquote "${piece}"
        local -i length="${#plain}"
        __cuejack_unquote "${joined[last]}"
        COMPREPLY=()
        _cuejack "${COMP_WORDS[0]}" "${plain}" "${COMP_WORDS[last > 0 ? last - 1 : 0]}"
        local -i start="$((${#plain} - length))"
        if "${are_words}"; then
            compopt +o filenames
            [[ "${#COMPREPLY[@]}" = 1 && "${COMPREPLY[0]}" = *[=:#] ]] && compopt -o nospace
        fi
        for i in "${!COMPREPLY[@]}"; do
            COMPREPLY[i]="${COMPREPLY[i]:start}"
            if "${are_words}" && [[ "${joined[last]}" != [\'\"]* && -n "${COMPREPLY[i]}" ]]; then
                printf -v 'COMPREPLY[i]' %q "${COMPREPLY[i]}"
            fi
        done
    }

    """#

  private static let zsh = #"""
    # Offers words as they are. After some of them the word goes on.
    __cuejack_complete() {
        local -a open=("${(M)@:#*[=:#]}") closed=("${@:#(|*[=:#])}")
        compadd -J cuejack -S '' -a open
        compadd -J cuejack -a closed
    }

    """#
}
