import ArgumentParser
import Foundation
import System

@main
struct Fuzz: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cuejack-fuzz",
    abstract: "Hand damaged input to the library and the plugin host and see whether they survive.",
    discussion: """
      The subject is “sounds” (small files of every kind, made with ffmpeg, read through every function \
      that reads files), “mutations” (the same files with one byte changed at each place of their first \
      4,096 bytes, and cut at each of 512 places), “bundles” (turtle files of LV2 plugins, read and instantiated by the host), \
      “memory” (what a plugin's process may write into the memory that it shares with its host), \
      “reports” (graphs as other processes tell them), “packets” (ten OSC packets for a session), “midi” (Standard MIDI Files), “messages” (MIDI messages and universal packets), “soundfonts” (SoundFonts that play a song), or “sessions” (session.json and its journal, read, edited, \
      saved, drawn and collected in a folder with links that lead out of it). A seed determines the damage. Only results other \
      than a crash, a hang or a flood of memory are right. Each case runs in a child process: what it dies \
      of is told with its number, and the input is kept. `SUBJECT --first N --cases 1 --verbose` runs one \
      case again.
      """)

  @Argument(help: "What is damaged: \(Kind.allCases.map(\.rawValue).joined(separator: ", ")).")
  var subject = Kind.sounds

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
  @Option(help: "Only sound files whose name has this in it.")
  var only = ""
  @Option(help: "A library that is loaded into the children before all others: a sanitizer's.")
  var preload: String?
  @Flag(help: "Print what each case does.")
  var verbose = false

  /// Makes some cases fail on purpose, to prove that failures are found: a buffer overrun, an exit, a
  /// hang and an exhaustion of memory.
  @Flag(help: .hidden) var plantFaults = false

  // Arguments of a child process.
  @Option(help: .hidden) var corpus: String?
  @Option(help: .hidden) var progress: String?

  func run() throws {
    guard let corpus else { throw ExitCode(try Supervisor(self).run() ? 0 : 1) }
    if !verbose { Log.set(level: .critical) { _, _ in } }
    let worker = Worker(
      subject: try subject.subject(folder: corpus, only: only, isVerbose: verbose), seed: seed,
      deadline: deadline, plantsFaults: plantFaults, isVerbose: verbose)
    try worker.run(first..<first + cases, progress: progress ?? "/dev/null")
  }

  func validate() throws {
    guard cases >= 0, first >= 0, jobs > 0, deadline > 0 else {
      throw ValidationError("Counts begin at 1.")
    }
  }
}

extension Kind: ExpressibleByArgument {}
