import FoundationEssentials
import Glibc
package import Graph
import Server
import System

/// Validates bundles and plugins in a separate process and caches the results. Any thread.
@safe
package final class PluginValidator: @unchecked Sendable {
  private let executable: String
  private let arguments: [String]
  private let patience: Double
  private let cache: ProbeCache
  private let lock = Lock()
  private var process: ProbeProcess?

  /// - Parameters:
  ///   - executable: A program that calls `Probe.serve()` when it is given `arguments`.
  ///   - cacheFolder: The folder for cached results; nil for none.
  ///   - patience: Seconds that one step may take before it counts as hanging. Time in which the
  ///     process waits for a processor does not count.
  package init(
    executable: String = "/proc/self/exe", arguments: [String] = ["plugins", "probe"],
    cacheFolder: String? = PluginValidator.usualCacheFolder, patience: Double = 30
  ) {
    self.executable = executable
    self.arguments = arguments
    self.patience = patience
    cache = ProbeCache(folder: cacheFolder)
  }

  /// `cuejack` in XDG_CACHE_HOME or `~/.cache`.
  package static var usualCacheFolder: String {
    let cache = environmentVariable("XDG_CACHE_HOME")
    return (cache.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? homeFolder + "/.cache")
      + "/cuejack"
  }

  /// Returns the contents of a bundle. A cached result is valid until a file of the bundle changes. A
  /// crash or hang while reading it is remembered by this object only.
  ///
  /// - Parameter folders: Where to look for LV2's own bundle, which names the classes of plugins.
  /// - Throws: `HostError.noProbe`.
  package func bundle(_ path: String, in folders: BundleFolders = BundleFolders())
    throws(HostError) -> BundleReport
  {
    defer { cache.save() }
    return try read(path, Vocabulary(folders))
  }

  /// Returns the contents of bundles by path, as `bundle` does for one. All new results are cached
  /// together.
  ///
  /// - Throws: `HostError.noProbe`.
  func reports(ofBundles paths: [String], in folders: BundleFolders) throws(HostError)
    -> [(path: String, report: BundleReport)]
  {
    defer { cache.save() }
    var reports: [(path: String, report: BundleReport)] = []
    let vocabulary = Vocabulary(folders)
    for path in paths { reports.append((path, try read(path, vocabulary))) }
    return reports
  }

  /// LV2's own bundle, if there is one, and its stamp.
  private struct Vocabulary {
    let path: String?
    let stamp: String

    init(_ folders: BundleFolders) {
      path = folders.vocabulary
      stamp = path.map { "\($0) \(FileFacts.stamp(ofBundle: $0))" } ?? ""
    }
  }

  private func read(_ path: String, _ vocabulary: Vocabulary) throws(HostError) -> BundleReport {
    let subject = ProbeCache.Subject(path)
    if let known = cache.report(of: subject, vocabulary.stamp) { return known }
    var report = BundleReport()
    var isLasting = false
    lock.lock()
    defer { lock.unlock() }
    let task = ProbeTask(kind: .bundle(path, vocabulary: vocabulary.path), path: nil)
    switch try ask(task) {
    case .answer(.bundle(let answer), let messages):
      report = answer
      isLasting = true
      report.problems = messages.filter { $0.contains("error:") } + report.problems
    case .answer(_, _): report.problems = ["the probe gave no answer"]
    case .died(let how, let phase):
      report.problems = ["reading it \(how)\(phase.map { ", while it \($0)" } ?? "")"]
    }
    cache.set(report, of: subject, vocabulary.stamp, isLasting: isLasting)
    return report
  }

  /// Validates a plugin briefly: whether it can be instantiated, run and freed. A good result is cached
  /// until a file of its bundle changes. A bad one, which may have other causes (a missing library, too
  /// little memory), is remembered by this object only.
  ///
  /// - Throws: `HostError.noProbe`, or `.unknownPlugin`.
  package func plugin(_ uri: String, in world: World) throws(HostError) -> ValidationReport {
    let bundle = try world.description(of: uri).bundle
    let subject = ProbeCache.Subject(bundle)
    if let known = cache.report(ofPlugin: uri, in: subject) { return known }
    let report = try validate(uri, in: world, .short)
    cache.set(report, ofPlugin: uri, in: subject, isLasting: report.failures.isEmpty)
    cache.save()
    return report
  }

  /// Validates a plugin without using the cache.
  ///
  /// - Throws: `HostError.noProbe`.
  package func validate(_ uri: String, in world: World, _ length: ValidationLength)
    throws(HostError)
    -> ValidationReport
  {
    lock.lock()
    defer { lock.unlock() }
    switch try ask(ProbeTask(kind: .plugin(uri: uri, length), path: world.path)) {
    case .answer(.plugin(let report), _): return report
    case .answer(_, _): return ValidationReport(failures: ["gave no answer"])
    case .died(let how, let phase):
      return ValidationReport(failures: [phase.map { "\(how) while it \($0)" } ?? how])
    }
  }

  private enum Outcome {
    case answer(ProbeLine, messages: [String])
    /// The end of the process, and the step that the plugin was in.
    case died(String, phase: String?)
  }

  private func ask(_ task: ProbeTask) throws(HostError) -> Outcome {
    let process: ProbeProcess
    if let running = self.process {
      process = running
    } else {
      process = try ProbeProcess(executable, arguments)
      self.process = process
    }
    process.send(task)
    var phase: String?
    while true {
      guard let line = process.line(patience: patience) else { break }
      if case .phase(let name) = line {
        phase = name
      } else {
        return .answer(line, messages: process.messages())
      }
    }
    self.process = nil
    return .died(process.end(), phase: phase)
  }
}

/// A running validator process.
@safe
private final class ProbeProcess {
  private var process: pid_t = 0
  private let socket: CInt
  /// The folder for the process's temporary files and its standard error output.
  private let scratch = ScratchFolder()
  private let messagePath: String
  private var received: [UInt8] = []
  /// Bytes of the file that were read.
  private var readMessages = 0

  init(_ executable: String, _ arguments: [String]) throws(HostError) {
    var pair: [CInt] = [-1, -1]
    let made = unsafe Glibc.socketpair(
      AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &pair)
    guard made == 0 else {
      throw unsafe .noProbe(path: executable, reason: String(cString: strerror(errno)))
    }
    socket = pair[0]
    scratch.make()
    messagePath = scratch.path + "/messages"
    var environment = ProcessInfo.processInfo.environment
    // The exit signal reports a crash.
    environment["SWIFT_BACKTRACE"] = "enable=no"
    environment["TMPDIR"] = scratch.path
    let status = startProcess(
      &process, executable, [executable] + arguments,
      environment: environment.map { "\($0)=\($1)" },
      files: [.open(pair[1]), .open(pair[1]), .new(path: messagePath)])
    close(pair[1])
    if status != 0 {
      close(socket)
      throw unsafe .noProbe(path: executable, reason: String(cString: strerror(status)))
    }
  }

  deinit {
    _ = end()
    close(socket)
  }

  func send(_ task: ProbeTask) {
    guard var bytes = try? JSONEncoder().encode(task) else { return }
    bytes.append(UInt8(ascii: "\n"))
    // If the process has died, the missing answer shows it.
    _ = unsafe bytes.withUnsafeBytes {
      unsafe Glibc.send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
    }
  }

  /// Returns the next line, or nil if none comes within `patience` seconds or the process ended. Time
  /// in which the process waits for a processor does not count.
  func line(patience: Double) -> ProbeLine? {
    // The clock and the processor delays when the wait began.
    var first: (now: Double, delays: [String: Double])?
    while true {
      if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
        let line = Data(received[..<end])
        received.removeSubrange(...end)
        return try? JSONDecoder().decode(ProbeLine.self, from: line)
      }
      var request = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      let ready = unsafe poll(&request, 1, 200)
      if ready < 0 && errno == EINTR { continue }
      if ready == 0 {
        guard let first else {
          first = (Self.now, processorDelays)
          continue
        }
        let delay = processorDelays.map { $0.value - (first.delays[$0.key] ?? 0) }.max() ?? 0
        if Self.now - first.now - delay < patience { continue }
      }
      guard ready > 0 else { return nil }
      var chunk = [UInt8](repeating: 0, count: 1 << 16)
      let count = unsafe recv(socket, &chunk, chunk.count, 0)
      guard count > 0 else { return nil }
      received += chunk[..<count]
    }
  }

  private static var now: Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// Seconds that each thread of the process was ready to run without a processor, so far. Empty if the
  /// kernel does not count them.
  private var processorDelays: [String: Double] {
    let folder = "/proc/\(process)/task"
    var delays: [String: Double] = [:]
    for thread in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      let text = System.text(ofSystemFile: "\(folder)/\(thread)/schedstat")
      let words = text?.split(separator: " ") ?? []
      if words.count > 1, let delay = Double(words[1]) { delays[thread] = delay / 1e9 }
    }
    return delays
  }

  /// Returns the lines written to standard error since the last call.
  func messages() -> [String] {
    let file = unsafe open(messagePath, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return [] }
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe pread(file, &chunk, chunk.count, readMessages)
      guard count > 0 else { break }
      bytes += chunk[..<count]
      readMessages += count
    }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// Ends the process if it is running.
  ///
  /// - Returns: How it ended, in words.
  func end() -> String {
    guard process > 0 else { return "had ended" }
    var status: CInt = 0
    // A process that closed its socket is about to end by itself.
    var request = pollfd(fd: socket, events: 0, revents: 0)
    let hasClosed = unsafe poll(&request, 1, 0) > 0
    if !hasClosed { kill(process, SIGKILL) }
    while unsafe waitpid(process, &status, 0) < 0 && errno == EINTR {}
    process = 0
    if !hasClosed { return "hangs" }
    let signal = status & 0x7f
    return signal == 0
      ? "ended the process with code \(status >> 8 & 0xff)"
      : unsafe "crashed (\(String(cString: strsignal(signal))))"
  }
}
