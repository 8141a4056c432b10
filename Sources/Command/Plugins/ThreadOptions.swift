import ArgumentParser
import System

/// The option for the threads of plugins.
struct ThreadOptions: ParsableArguments {
  @Option(
    name: .customLong("threads"),
    help: ArgumentHelp(
      "Run plugins that do not depend on each other on this many threads.",
      discussion: """
        The sound stays the same, bit for bit. The threads are used while that is faster: from about 80 \
        microseconds of work in a cycle on. There are at most as many as processors.
        """, valueName: "count"))
  var wanted = 1

  /// The number of threads to run: at most the processors that this process may use.
  var count: Int { min(wanted, availableProcessors) }

  func validate() throws {
    try checkOnce(["--threads"])
    try check((1...64).contains(wanted), "--threads takes a number from 1 to 64")
  }
}
