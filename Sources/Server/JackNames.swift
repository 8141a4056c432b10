import CJack
import Glibc

// Names of clients: unique on the server, and no longer than it takes.

/// A client that libjack has opened, before anything else knows of it. Under `JackLibrary.alone`.
@safe
struct OpenedClient {
  let handle: OpaquePointer

  var name: String { unsafe String(cString: jack_get_client_name(handle)) }

  /// True if there is a client of that name.
  func finds(_ name: String) -> Bool { uuid(of: name) != nil }

  /// True if another client has its name: PipeWire gives one to two.
  var sharesItsName: Bool {
    guard let found = uuid(of: name) else { return false }
    return unsafe found != Self.take(jack_client_get_uuid(handle))
  }

  private func uuid(of name: String) -> String? {
    unsafe Self.take(jack_get_uuid_for_client_name(handle, name))
  }

  private static func take(_ text: UnsafeMutablePointer<CChar>?) -> String? {
    guard let text = unsafe text else { return nil }
    defer { unsafe jack_free(text) }
    return unsafe String(cString: text)
  }

  func close() { _ = unsafe jack_client_close(handle) }
}

/// What a client is to be called.
struct ClientName {
  /// Bytes that a name may have before its number: jackd takes 63, and PipeWire more.
  private static let mostBytes = 63 - "-9999".utf8.count

  let text: String

  /// The beginning of `text` that leaves room for a number, cut between characters.
  init(_ text: String) {
    var (end, bytes) = (text.startIndex, 0)
    while end < text.endIndex {
      bytes += text[end].utf8.count
      if bytes > Self.mostBytes { break }
      end = text.index(after: end)
    }
    self.text = String(text[..<end])
  }

  /// The name with the lowest number under which `asked` finds nobody, as jackd writes it; nil if there is
  /// none.
  func free(by asked: OpenedClient) -> String? {
    (1...9999).lazy.map { "\(text)-\($0 < 10 ? "0" : "")\($0)" }.first { !asked.finds($0) }
  }
}
