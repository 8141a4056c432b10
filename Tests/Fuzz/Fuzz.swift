import ArgumentParser
import Foundation
import Logging

@main
struct Fuzz: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cuejack-fuzz",
    abstract: "Hand damaged sound files to the library and see whether it survives.",
    discussion: """
      Small files of every kind are made with ffmpeg, then damaged in ways that a seed determines, and \
      read through every function that reads files. Only results other than a crash, a hang or a flood of \
      memory are right. Each case runs in a child process: what it dies of is told with its number, and \
      the file is kept. `--first N --cases 1 --verbose` runs one case again.
      """)

  @Option(help: "How many cases to run.")
  var cases = 100_000
  @Option(help: "The number of the first case.")
  var first = 0
  @Option(help: "What determines the damage, together with a case's number.")
  var seed: UInt64 = 1
  @Option(help: "Seconds after which no more cases are begun; 0 for no limit.")
  var seconds = 0.0
  @Option(help: "How many cases run at a time.")
  var jobs = ProcessInfo.processInfo.activeProcessorCount
  @Option(help: "Seconds that one case may take.")
  var deadline = 20
  @Option(help: "Where files that something died of are kept.")
  var keep = "fuzz-findings"
  @Option(help: "Only files whose name has this in it.")
  var only = ""
  @Option(help: "A library that is loaded into the children before all others: a sanitizer's.")
  var preload: String?
  @Flag(help: "Print what each case does.")
  var verbose = false

  /// Has some cases go wrong on purpose, to show that it is found: one overruns its memory, one ends
  /// the program, one does not end, and one takes all memory.
  @Flag(help: .hidden) var plantFaults = false

  // What a child is called with.
  @Option(help: .hidden) var corpus: String?
  @Option(help: .hidden) var progress: String?

  func run() throws {
    guard let corpus else { throw ExitCode(try Supervisor(self).run() ? 0 : 1) }
    if !verbose { LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() } }
    let files = try Corpus(folder: corpus, only: only)
    let worker = Worker(
      files, seed: seed, deadline: deadline, plantsFaults: plantFaults, isVerbose: verbose)
    try worker.run(first..<first + cases, progress: progress ?? "/dev/null")
  }

  func validate() throws {
    guard cases >= 0, first >= 0, jobs > 0, deadline > 0 else {
      throw ValidationError("Counts begin at 1.")
    }
  }
}
