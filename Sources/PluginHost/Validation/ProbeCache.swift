import FoundationEssentials
import Glibc
import System

/// The contents of bundles and the results of validation, by bundle, in one file. Any thread.
///
/// The file's first line has its format and a hash of the rest. A file of another format, another user or
/// with another hash counts as none, and is replaced. Processes that write at the same time replace the
/// file as a whole, and each keeps what it finds there.
final class ProbeCache: @unchecked Sendable {
  /// What is known about a bundle whose files have the same stamp.
  private struct Entry: Codable {
    var stamp: String
    var report: BundleReport?
    /// Results of validation by plugin URI.
    var plugins: [String: ValidationReport] = [:]
  }
  private static let format = "cuejack plugins 2"

  private let folder: String?
  private let path: String?
  private let lock = Lock()
  /// What was read from the file, by bundle path.
  private var kept: [String: Entry] = [:]
  /// What is to be added to the file.
  private var fresh: [String: Entry] = [:]
  /// What is not written to the file.
  private var passing: [String: Entry] = [:]

  init(folder: String?) {
    self.folder = folder
    path = folder.map { $0 + "/plugins.json" }
    if let path { kept = Self.read(path) }
  }

  // MARK: Entries

  func report(ofBundle bundle: String) -> BundleReport? {
    let stamp = FileFacts.stamp(ofBundle: bundle)
    lock.lock()
    defer { lock.unlock() }
    return entry(bundle, stamp) { $0.report }
  }

  func report(ofPlugin uri: String, bundle: String) -> ValidationReport? {
    let stamp = FileFacts.stamp(ofBundle: bundle)
    lock.lock()
    defer { lock.unlock() }
    return entry(bundle, stamp) { $0.plugins[uri] }
  }

  /// - Parameter isLasting: Whether `save()` writes the report to the file.
  func set(_ report: BundleReport, ofBundle bundle: String, isLasting: Bool) {
    change(bundle, isLasting) { $0.report = report }
  }

  /// - Parameter isLasting: Whether `save()` writes the report to the file.
  func set(_ report: ValidationReport, ofPlugin uri: String, bundle: String, isLasting: Bool) {
    change(bundle, isLasting) { $0.plugins[uri] = report }
  }

  private func entry<Report>(
    _ bundle: String, _ stamp: String, _ report: (Entry) -> Report?
  ) -> Report? {
    for entries in [passing, fresh, kept] {
      if let entry = entries[bundle], entry.stamp == stamp, let found = report(entry) {
        return found
      }
    }
    return nil
  }

  private func change(_ bundle: String, _ isLasting: Bool, _ body: (inout Entry) -> Void) {
    let stamp = FileFacts.stamp(ofBundle: bundle)
    lock.lock()
    defer { lock.unlock() }
    var entry = (isLasting ? fresh : passing)[bundle] ?? Entry(stamp: stamp)
    if entry.stamp != stamp { entry = Entry(stamp: stamp) }
    body(&entry)
    if isLasting { fresh[bundle] = entry } else { passing[bundle] = entry }
  }

  // MARK: The file

  /// Adds the new lasting reports to the file. If it cannot be written, the next process asks again.
  func save() {
    lock.lock()
    defer { lock.unlock() }
    guard let folder, let path, !fresh.isEmpty else { return }
    // Another process may have written meanwhile.
    var entries = kept.merging(Self.read(path)) { $1 }
    for (bundle, entry) in fresh {
      var merged = entry
      if let old = entries[bundle], old.stamp == entry.stamp {
        merged.report = entry.report ?? old.report
        merged.plugins = old.plugins.merging(entry.plugins) { $1 }
      }
      entries[bundle] = merged
    }
    entries = entries.filter { unsafe access($0.key, F_OK) == 0 }
    (kept, fresh) = (entries, [:])
    guard let body = try? JSONEncoder().encode(entries) else { return }
    var hash = FNVHash()
    hash.add(body)
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try? (Data("\(Self.format) \(hash.text)\n".utf8) + body)
      .write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  private static func read(_ path: String) -> [String: Entry] {
    var status = stat()
    guard unsafe stat(path, &status) == 0, status.st_uid == geteuid(),
      status.st_mode & S_IFMT == S_IFREG,
      let data = FileManager.default.contents(atPath: path),
      let end = data.firstIndex(of: UInt8(ascii: "\n"))
    else { return [:] }
    let body = data[(end + 1)...]
    var hash = FNVHash()
    unsafe body.withUnsafeBytes { unsafe hash.add($0) }
    guard data[..<end].elementsEqual("\(format) \(hash.text)".utf8) else { return [:] }
    return (try? JSONDecoder().decode([String: Entry].self, from: Data(body))) ?? [:]
  }
}
