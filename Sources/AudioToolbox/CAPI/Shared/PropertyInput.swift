import CAudioToolbox

/// The bytes that an app passes to a function for a property: a new value to set, or the question that the
/// property answers, such as a frame to translate. Empty if the app passes none.
@safe
struct PropertyInput<Failure: PropertyFailure> {
  let id: UInt32
  let bytes: UnsafeRawBufferPointer

  /// The app passes nothing.
  init(_ id: UInt32) { unsafe self.init(id, nil, 0) }

  init(_ id: UInt32, _ start: UnsafeRawPointer?, _ size: UInt32) {
    self.id = id
    let count = UInt(bitPattern: start) == 0 ? 0 : Int(size)
    unsafe bytes = UnsafeRawBufferPointer(start: start, count: count)
  }

  /// - Parameter start: NULL is a mistake unless there are no bytes.
  init(_ id: UInt32, given start: UnsafeRawPointer?, _ size: UInt32) throws(Failure) {
    unsafe self.init(id, start, size)
    if isEmpty, size > 0 { throw .badArgument("the value is NULL") }
  }

  var isEmpty: Bool { byteCount == 0 }
  var byteCount: Int { unsafe bytes.count }

  /// Returns the value at the beginning of the bytes. More bytes may follow.
  func value<Value: BitwiseCopyable>(_ type: Value.Type = Value.self) throws(Failure) -> Value {
    guard byteCount >= MemoryLayout<Value>.size else {
      throw .wrongSize(id, needed: MemoryLayout<Value>.size, size: byteCount)
    }
    return unsafe bytes.loadUnaligned(as: type)
  }

  /// Returns a number as an integer.
  func number() throws(Failure) -> Int { Int(try value(UInt32.self)) }

  func flag() throws(Failure) -> Bool { try value(UInt32.self) != 0 }

  /// Returns a pointer to the app's structure.
  func pointer<Value>(to type: Value.Type = Value.self) throws(Failure)
    -> UnsafeMutablePointer<Value>
  {
    guard byteCount >= MemoryLayout<Value>.size, let address = unsafe bytes.baseAddress else {
      throw .wrongSize(id, needed: MemoryLayout<Value>.size, size: byteCount)
    }
    return unsafe UnsafeMutableRawPointer(mutating: address).assumingMemoryBound(to: type)
  }

  /// Copies an entry's value to the app's memory, and stores the number of bytes.
  ///
  /// - Parameters:
  ///   - missing: The failure if there is no value.
  ///   - least: Number of bytes of a list that must fit at least, unless it is empty.
  func copy(
    _ entry: PropertyEntry<Failure>?, _ size: UnsafeMutablePointer<UInt32>,
    missing: @autoclosure () -> Failure, least: Int = 0
  ) throws(Failure) {
    guard let value = try entry?.read?() else { throw missing() }
    let memory = unsafe UnsafeMutableRawBufferPointer(mutating: bytes)
    guard let count = unsafe value.write(to: memory), count >= min(least, value.byteCount) else {
      throw .noRoom(id, size: value.byteCount, room: byteCount)
    }
    unsafe size.pointee = UInt32(count)
  }

  /// Returns the whole values among the bytes.
  func array<Value: BitwiseCopyable>(of type: Value.Type = Value.self) -> [Value] {
    let stride = MemoryLayout<Value>.stride
    return (0..<byteCount / stride).map {
      unsafe bytes.loadUnaligned(fromByteOffset: $0 * stride, as: type)
    }
  }
}
