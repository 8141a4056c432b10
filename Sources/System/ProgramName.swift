internal import CGlibc

/// The file name of the running program, as a C string that lives as long as the process. Any thread.
@unsafe package var programName: UnsafePointer<CChar> { unsafe cue_program_name() }

/// The words of the command line as file names are kept, the program's own first.
package let commandLine: [String] = unsafe UnsafeBufferPointer(
  start: CommandLine.unsafeArgv, count: Int(CommandLine.argc)
).compactMap { unsafe $0.map { unsafe String(systemName: $0) } }

/// The name of the program's JACK clients: that of its file.
package var clientName: String {
  let path = commandLine.first ?? ""
  let name = path.split(separator: "/").last.map(String.init) ?? ""
  return name.isEmpty ? "cuejack" : name
}
