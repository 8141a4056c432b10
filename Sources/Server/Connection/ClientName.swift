/// A name to request for a client: unique on the server, and within its length limit.
struct ClientName {
  /// Largest number of bytes of a name before its number: jackd allows 63 in all, PipeWire more.
  private static let mostBytes = 63 - "-9999".utf8.count

  let text: String

  /// Truncates `text` between characters so that a number still fits.
  init(_ text: String) {
    var (end, bytes) = (text.startIndex, 0)
    while end < text.endIndex {
      bytes += text[end].utf8.count
      if bytes > Self.mostBytes { break }
      end = text.index(after: end)
    }
    self.text = String(text[..<end])
  }

  /// Returns the name with the lowest number that `asked` finds no client under, in jackd's format;
  /// nil if there is none.
  func free(by asked: OpenedClient) -> String? {
    (1...9999).lazy.map { "\(text)-\($0 < 10 ? "0" : "")\($0)" }.first { !asked.finds($0) }
  }
}
