import CBus

/// A D-Bus message that is read, or written and sent. One thread.
@safe
struct BusMessage {
  private let bus: cue_bus_functions
  private let message: OpaquePointer

  init(_ bus: cue_bus_functions, _ message: OpaquePointer) {
    self.bus = bus
    unsafe self.message = unsafe message
  }

  private static func code(_ type: Character) -> CChar {
    CChar(bitPattern: type.asciiValue ?? 0)
  }

  // MARK: Reading

  var interface: String {
    unsafe bus.sd_bus_message_get_interface(message).map { unsafe String(cString: $0) } ?? ""
  }
  var member: String {
    unsafe bus.sd_bus_message_get_member(message).map { unsafe String(cString: $0) } ?? ""
  }

  /// Reads the next value if it is a text or an object path.
  func readText() -> String? {
    guard let type = nextType, type == "s" || type == "o" else { return nil }
    var text: UnsafePointer<CChar>?
    guard unsafe bus.sd_bus_message_read_basic(message, Self.code(type), &text) > 0 else {
      return nil
    }
    return unsafe text.map { unsafe String(cString: $0) }
  }

  /// Reads the next value if it is a number, or a variant of one.
  func readNumber() -> Double? {
    switch nextType {
    case "d":
      var value = 0.0
      return unsafe bus.sd_bus_message_read_basic(message, Self.code("d"), &value) > 0 ? value : nil
    case "x":
      var value: Int64 = 0
      let isRead = unsafe bus.sd_bus_message_read_basic(message, Self.code("x"), &value) > 0
      return isRead ? Double(value) : nil
    default: return nil
    }
  }

  /// Enters the variant that is the next value. False if that is another type.
  func enterVariant() -> Bool {
    var (type, contents) = unsafe (CChar(0), UnsafePointer<CChar>?.none)
    guard unsafe bus.sd_bus_message_peek_type(message, &type, &contents) > 0,
      type == Self.code("v")
    else { return false }
    return unsafe bus.sd_bus_message_enter_container(message, type, contents) > 0
  }

  private var nextType: Character? {
    var type = CChar(0)
    guard unsafe bus.sd_bus_message_peek_type(message, &type, nil) > 0 else { return nil }
    return Character(UnicodeScalar(UInt8(bitPattern: type)))
  }

  // MARK: Writing

  /// Appends a value. D-Bus has no text with other characters than those of UTF-8, and none with a zero.
  func append(_ value: BusValue) {
    switch value {
    case .bool(let flag):
      var number: CInt = flag ? 1 : 0
      _ = unsafe bus.sd_bus_message_append_basic(message, Self.code("b"), &number)
    case .double(var number):
      _ = unsafe bus.sd_bus_message_append_basic(message, Self.code("d"), &number)
    case .int(var number):
      _ = unsafe bus.sd_bus_message_append_basic(message, Self.code("x"), &number)
    case .string(let text): append(text, as: "s")
    case .object(let path): append(path, as: "o")
    case .strings(let texts):
      within("a", "s") { for text in texts { append(text, as: "s") } }
    case .table(let entries):
      within("a", "{sv}") {
        for (name, value) in entries.sorted(by: { $0.key < $1.key }) {
          within("e", "sv") {
            append(name, as: "s")
            appendVariant(value)
          }
        }
      }
    }
  }

  /// Appends a value of any type.
  func appendVariant(_ value: BusValue) {
    within("v", value.signature) { append(value) }
  }

  private func append(_ text: String, as type: Character) {
    unsafe text.withCString {
      _ = unsafe bus.sd_bus_message_append_basic(message, Self.code(type), $0)
    }
  }

  private func within(_ type: Character, _ contents: String, _ body: () -> Void) {
    unsafe contents.withCString {
      _ = unsafe bus.sd_bus_message_open_container(message, Self.code(type), $0)
    }
    body()
    _ = unsafe bus.sd_bus_message_close_container(message)
  }

  /// Sends the message on a connection, and frees it.
  func send(on connection: OpaquePointer) {
    _ = unsafe bus.sd_bus_send(connection, message, nil)
    _ = unsafe bus.sd_bus_message_unref(message)
  }
}
