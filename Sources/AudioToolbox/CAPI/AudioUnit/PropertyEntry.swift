import AudioUnits
import CAudioToolbox

/// What a unit does with one property in one scope and element: GetPropertyInfo, Get and Set answer from it.
///
/// A property that can be neither read nor written has no entry.
@safe
struct PropertyEntry {
  typealias Read = (UnsafeMutableRawBufferPointer) throws(AudioUnitError) -> Int
  typealias Write = (UnsafeRawBufferPointer) throws(AudioUnitError) -> Void

  /// Size of the value in bytes.
  let byteCount: Int
  /// Copies as much of the value as there is memory for, and returns the number of bytes; nil for a property
  /// that is only written.
  let read: Read?
  /// Sets the value; nil for a property that is only read.
  let write: Write?
}

extension UnitProperty {
  /// The entry of a value that is only read.
  func entry(bytes: Int, get: @escaping () throws(AudioUnitError) -> CopiedValue) -> PropertyEntry {
    unsafe entry(bytes: bytes, get: get, set: nil)
  }

  /// The entry of a value that is copied, such as an array or a Core Foundation object.
  func entry(
    bytes: Int, get: @escaping () throws(AudioUnitError) -> CopiedValue, set: PropertyEntry.Write?
  ) -> PropertyEntry {
    unsafe PropertyEntry(
      byteCount: bytes,
      read: { (memory) throws(AudioUnitError) in unsafe try get().writePart(to: memory) },
      write: set)
  }

  /// The entry of a value that is there already.
  func entry(_ value: CopiedValue) -> PropertyEntry {
    entry(bytes: value.byteCount, get: { value })
  }

  func entry(_ value: CopiedValue, set: @escaping PropertyEntry.Write) -> PropertyEntry {
    unsafe entry(bytes: value.byteCount, get: { value }, set: set)
  }

  /// The entry of a number or a structure that is read, and written unless `set` is nil.
  func entry<Value: BitwiseCopyable>(
    get: @escaping () throws(AudioUnitError) -> Value,
    set: ((Value) throws(AudioUnitError) -> Void)? = nil
  ) -> PropertyEntry {
    unsafe entry(
      bytes: MemoryLayout<Value>.size,
      get: { () throws(AudioUnitError) in CopiedValue(try get()) }, set: set.map(writing))
  }

  /// The entry of a value that is only written.
  func entry(bytes: Int, set: @escaping PropertyEntry.Write) -> PropertyEntry {
    unsafe PropertyEntry(byteCount: bytes, read: nil, write: set)
  }

  /// The entry of a switch: 0 or 1.
  func entry(
    flag: Bool, set: ((Bool) throws(AudioUnitError) -> Void)? = nil
  ) -> PropertyEntry {
    let get = { UInt32(flag ? 1 : 0) }
    guard let set else { return entry(get: get) }
    return entry(get: get) { (value) throws(AudioUnitError) in try set(value != 0) }
  }

  /// The entry of a structure that asks a question, which the unit completes with the answer.
  func entry<Question: BitwiseCopyable>(
    completing body: @escaping (inout Question) throws(AudioUnitError) -> Void
  ) -> PropertyEntry {
    let size = MemoryLayout<Question>.size
    return unsafe PropertyEntry(
      byteCount: size,
      read: { (memory) throws(AudioUnitError) in
        guard memory.count >= size else {
          throw .badArgument("the property \(id) has \(size) bytes, not \(memory.count)")
        }
        var question = unsafe memory.loadUnaligned(as: Question.self)
        try body(&question)
        unsafe withUnsafeBytes(of: question) { unsafe memory.copyMemory(from: $0) }
        return size
      }, write: nil)
  }

  private func writing<Value: BitwiseCopyable>(
    _ set: @escaping (Value) throws(AudioUnitError) -> Void
  ) -> PropertyEntry.Write {
    { (data) throws(AudioUnitError) in try set(unsafe input(data, Value.self)) }
  }

  /// Returns a value that the app has passed.
  func input<Value: BitwiseCopyable>(_ data: UnsafeRawBufferPointer, _ type: Value.Type)
    throws(AudioUnitError) -> Value
  {
    guard data.count >= MemoryLayout<Value>.size else {
      throw .badArgument(
        "the property \(id) has \(MemoryLayout<Value>.size) bytes, not \(data.count)")
    }
    return unsafe data.loadUnaligned(as: type)
  }
}
