import FoundationEssentials
import Glibc
import System

/// The contents of bundles and the results of validation, by bundle, in one file. Any thread.
///
/// The file's first line has its format and a hash of the rest. A file of another format, another user or
/// with another hash counts as none, and is replaced. Processes that write at the same time replace the
/// file as a whole, and each keeps what it finds there.
final class ProbeCache: @unchecked Sendable {
  /// The result of reading a bundle, valid while its files have the same stamp.
  private struct Entry: Codable {
    var stamp: String
    var report: BundleReport?
    /// LV2's own bundle and its stamp when the report was made; the report has names of classes from it.
    var vocabulary = ""
    /// Results of validation by plugin URI.
    var plugins: [String: ValidationReport] = [:]
  }
  private static let format = "cuejack plugins 2"

  private let folder: String?
  private let path: String?
  private let lock = Lock()
  /// Entries that were read from the cache file, by bundle path.
  private var kept: [String: Entry] = [:]
  /// Entries that will be added to the cache file.
  private var fresh: [String: Entry] = [:]
  /// Entries that are not written to the cache file.
  private var passing: [String: Entry] = [:]

  init(folder: String?) {
    self.folder = folder
    path = folder.map { $0 + "/plugins.json" }
    if let path { kept = Self.read(path) }
  }

  // MARK: Entries

  /// A bundle as it was before it was read: what is found in it counts as long as its stamp is the same.
  struct Subject {
    let bundle: String
    let stamp: String

    init(_ bundle: String) {
      self.bundle = bundle
      stamp = FileFacts.stamp(ofBundle: bundle)
    }
  }

  /// - Parameter vocabulary: LV2's own bundle and its stamp.
  func report(of subject: Subject, _ vocabulary: String) -> BundleReport? {
    entry(subject) { $0.vocabulary == vocabulary ? $0.report : nil }
  }

  func report(ofPlugin uri: String, in subject: Subject) -> ValidationReport? {
    entry(subject) { $0.plugins[uri] }
  }

  /// - Parameters:
  ///   - vocabulary: LV2's own bundle and its stamp.
  ///   - isLasting: Whether `save()` writes the report to the file.
  func set(_ report: BundleReport, of subject: Subject, _ vocabulary: String, isLasting: Bool) {
    change(subject, isLasting) {
      $0.report = report
      $0.vocabulary = vocabulary
    }
  }

  /// - Parameter isLasting: Whether `save()` writes the report to the file.
  func set(
    _ report: ValidationReport, ofPlugin uri: String, in subject: Subject, isLasting: Bool
  ) {
    change(subject, isLasting) { $0.plugins[uri] = report }
  }

  private func entry<Report>(_ subject: Subject, _ report: (Entry) -> Report?) -> Report? {
    lock.lock()
    defer { lock.unlock() }
    for entries in [passing, fresh, kept] {
      if let entry = entries[subject.bundle], entry.stamp == subject.stamp,
        let found = report(entry)
      {
        return found
      }
    }
    return nil
  }

  private func change(_ subject: Subject, _ isLasting: Bool, _ body: (inout Entry) -> Void) {
    lock.lock()
    defer { lock.unlock() }
    let (bundle, stamp) = (subject.bundle, subject.stamp)
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
        if entry.report == nil {
          (merged.report, merged.vocabulary) = (old.report, old.vocabulary)
        }
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
