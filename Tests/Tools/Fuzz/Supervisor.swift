import Foundation

/// The parent process, which runs children and continues with the next case after a crash.
struct Supervisor {
  private let options: Fuzz
  private let folder: String

  /// Cases per child process.
  private static let batch = 1000

  init(_ options: Fuzz) throws {
    self.options = options
    folder = NSTemporaryDirectory() + "/cuejack-fuzz-\(ProcessInfo.processInfo.processIdentifier)"
  }

  private var suppressions: String { "\(folder)/suppressions" }

  private struct Child {
    let process: Process
    let cases: Range<Int>
    let progress: String
    let errors: String
  }

  /// Returns `false` if a child process died.
  func run() throws -> Bool {
    let corpus = "\(folder)/corpus"
    try FileManager.default.createDirectory(atPath: corpus, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // LeakSanitizer finds no pointer to some values of Swift's global constants in an optimised build.
    try "leak:swift::threading_impl::once_slow\n".write(
      toFile: suppressions, atomically: true, encoding: .utf8)
    try options.subject.makeCorpus(in: corpus, only: options.only)
    say(
      "\(options.subject.rawValue), seed \(options.seed), cases \(options.first) to \(options.first + options.cases - 1)"
    )

    // Without the corpus, which takes a busy machine long to make.
    let started = Date()
    let end = options.first + options.cases
    var next = options.first
    var pending: [Range<Int>] = []
    var children: [Child] = []
    var done = 0
    var findings = 0
    while true {
      let isLate = options.seconds > 0 && -started.timeIntervalSinceNow > options.seconds
      while children.count < options.jobs, !isLate, !pending.isEmpty || next < end {
        if pending.isEmpty {
          pending.append(next..<min(end, next + Self.batch))
          next = pending[0].upperBound
        }
        children.append(try start(pending.removeFirst(), corpus))
      }
      if isLate { for child in children { child.process.terminate() } }
      guard !children.isEmpty else { break }
      usleep(20_000)
      for (index, child) in children.enumerated().reversed() where !child.process.isRunning {
        children.remove(at: index)
        let reached = Int((try? String(contentsOfFile: child.progress, encoding: .utf8)) ?? "")
        let isWhole =
          child.process.terminationReason == .exit && child.process.terminationStatus == 0
        if isWhole || isLate {
          done +=
            (isWhole ? child.cases.upperBound : reached ?? child.cases.lowerBound)
            - child.cases.lowerBound
          continue
        }
        let number = reached ?? child.cases.lowerBound
        done += number + 1 - child.cases.lowerBound
        findings += 1
        try report(child, number, corpus)
        // A child that dies after its last case has leaked memory.
        if number + 1 < child.cases.upperBound {
          pending.append(number + 1..<child.cases.upperBound)
        }
        guard findings < 100 else {
          say("too many findings: this is where it ends")
          for child in children { child.process.terminate() }
          return false
        }
      }
    }
    let seconds = -started.timeIntervalSinceNow
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
    say(
      "\(done) cases in \(Int(seconds)) s, \(findings) findings, at most \(usage.ru_maxrss / 1024) MB"
    )
    return findings == 0 && done > 0
  }

  private func start(_ cases: Range<Int>, _ corpus: String) throws -> Child {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    let progress = "\(folder)/\(cases.lowerBound)"
    var arguments = [
      options.subject.rawValue, "--corpus", corpus, "--progress", progress, "--first",
      "\(cases.lowerBound)", "--cases",
      "\(cases.count)", "--seed", "\(options.seed)", "--deadline", "\(options.deadline)",
    ]
    if !options.only.isEmpty { arguments += ["--only", options.only] }
    if options.plantFaults { arguments += ["--plant-faults"] }
    if options.verbose { arguments += ["--verbose"] }
    process.arguments = arguments
    var environment = ProcessInfo.processInfo.environment
    // A small file must not cause a large allocation or a high total. lilv leaks some of what it reads.
    environment["ASAN_OPTIONS"] =
      "max_allocation_size_mb=512:allocator_may_return_null=1:hard_rss_limit_mb=1500:"
      + "quarantine_size_mb=32:detect_leaks=\(options.subject == .bundles ? 0 : 1)"
    environment["LSAN_OPTIONS"] = "suppressions=\(suppressions):print_suppressions=0"
    if let library = options.preload { environment["LD_PRELOAD"] = library }
    process.environment = environment
    let errors = "\(progress).errors"
    try Data().write(to: URL(fileURLWithPath: errors))
    process.standardInput = FileHandle.nullDevice
    if !options.verbose { process.standardError = FileHandle(forWritingAtPath: errors) }
    try process.run()
    return Child(process: process, cases: cases, progress: progress, errors: errors)
  }

  private func report(_ child: Child, _ number: Int, _ corpus: String) throws {
    let status = child.process.terminationStatus
    let isHang = child.process.terminationReason == .uncaughtSignal && status == SIGALRM
    let how =
      isHang
      ? "took more than \(options.deadline) s"
      : child.process.terminationReason == .exit
        ? "ended with status \(status)" : "got signal \(status)"
    var dice = Dice(seed: options.seed, case: number)
    let file = try options.subject.subject(folder: corpus, only: options.only, isVerbose: false)
      .input(&dice)
    try FileManager.default.createDirectory(
      atPath: options.keep, withIntermediateDirectories: true)
    let kept = "\(options.keep)/\(options.seed)-\(number)-\(file.name)"
    try Data(file.bytes).write(to: URL(fileURLWithPath: kept))
    let errors = (try? String(contentsOfFile: child.errors, encoding: .utf8)) ?? ""
    try errors.write(toFile: "\(kept).txt", atomically: true, encoding: .utf8)
    say("case \(number) of seed \(options.seed), \(file.name): \(how)")
    let telling = errors.split(separator: "\n").filter { line in
      ["ERROR:", "SUMMARY:", "Fatal error", "runtime failure", "    #", " at /"].contains {
        line.contains($0)
      }
    }
    for line in telling.prefix(14) { say("  \(line.prefix(200))") }
    say("  kept as \(kept)")
  }
}

/// Prints a line and flushes it.
private func say(_ line: String) {
  print(line)
  fflush(nil)
}
