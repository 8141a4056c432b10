/// Returns examples for the end of a command's discussion, a line each. A line wider than 78 columns
/// would be wrapped in the help.
func examples(_ lines: String...) -> String { "\n\nEXAMPLES:\n" + block(lines) }

/// Returns examples for a command without a discussion.
func onlyExamples(_ lines: String...) -> String { "EXAMPLES:\n" + block(lines) }

private func block(_ lines: [String]) -> String { lines.map { "  \($0)" }.joined(separator: "\n") }
