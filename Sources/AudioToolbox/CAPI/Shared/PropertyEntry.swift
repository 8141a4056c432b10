import CAudioToolbox

/// The size, the value and the setter of a property of one object. GetPropertyInfo, GetProperty and SetProperty of
/// that object all answer from this entry, which reads the value or sets it only if one of them asks.
struct PropertyEntry<Failure: PropertyFailure> {
  /// Size of the value in bytes; nil if only the value tells.
  private let byteCount: Int?
  /// Returns the value, nil if there is none now; nil for a property that is not read.
  let read: (() throws(Failure) -> CopiedValue?)?
  /// Sets the value; nil for a property that is only read.
  private(set) var write: (() throws(Failure) -> Void)?

  /// True for a number of 32 bits.
  var isWord: Bool { byteCount == 4 }

  /// Size of the value in bytes; 0 if there is none now.
  var size: Int {
    get throws(Failure) {
      if let byteCount { return byteCount }
      return try read?()?.byteCount ?? 0
    }
  }

  /// Returns the size in bytes of the value that there is now; 0 if there is none and it can be set.
  ///
  /// - Parameter missing: The failure if there is none.
  func presentSize(missing: Failure) throws(Failure) -> Int {
    guard let read else { return byteCount ?? 0 }
    guard let value = try read() else {
      if write == nil { throw missing }
      return 0
    }
    return value.byteCount
  }

  /// The entry of a number or a structure.
  static func value<Value: BitwiseCopyable>(
    _ value: @autoclosure @escaping () throws(Failure) -> Value
  ) -> Self {
    Self(byteCount: MemoryLayout<Value>.size) { () throws(Failure) in CopiedValue(try value()) }
  }

  /// The entry of a structure that asks a question, which the value answers; zeros without a question.
  static func answer<Value: BitwiseCopyable>(
    _ input: PropertyInput<Failure>, _ answer: @escaping (Value) throws(Failure) -> Value?
  ) -> Self {
    let size = MemoryLayout<Value>.size
    return Self(byteCount: size) { () throws(Failure) in
      if input.isEmpty { return CopiedValue(bytes: [UInt8](repeating: 0, count: size)) }
      guard input.byteCount >= size else {
        throw .noRoom(input.id, size: size, room: input.byteCount)
      }
      return try answer(input.value()).map { CopiedValue($0) }
    }
  }

  /// The entry of a switch: 0 or 1.
  static func flag(_ isOn: @autoclosure @escaping () throws(Failure) -> Bool) -> Self {
    value(try isOn() ? 1 : 0 as UInt32)
  }

  /// The entry of a Core Foundation object, which the caller releases.
  static func object(_ object: @autoclosure @escaping () throws(Failure) -> AnyObject) -> Self {
    Self(byteCount: MemoryLayout<UInt>.size) { () throws(Failure) in
      CopiedValue(object: try object())
    }
  }

  static func string(_ text: @autoclosure @escaping () throws(Failure) -> String) -> Self {
    object(try text().cfString)
  }

  /// The entry of a value of variable length, or of one that may be missing.
  ///
  /// - Parameter bytes: Size of the value, if it is known.
  static func copied(
    bytes: Int? = nil, _ value: @autoclosure @escaping () throws(Failure) -> CopiedValue?
  ) -> Self {
    Self(byteCount: bytes, read: value)
  }

  /// The entry of a value that is not read.
  static func unreadable(bytes: Int) -> Self { Self(byteCount: bytes, read: nil) }

  /// The entry with an expression that sets the value.
  func setting(
    if isSettable: Bool = true, _ body: @autoclosure @escaping () throws(Failure) -> Void
  ) -> Self {
    var entry = self
    if isSettable { entry.write = body }
    return entry
  }
}
