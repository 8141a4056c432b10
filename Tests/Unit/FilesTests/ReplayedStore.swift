import Foundation
import Synchronization

@testable import Files

/// A store in memory that records each operation.
final class ReplayedStore: ByteStore {
  enum Step {
    case write(offset: Int, bytes: [UInt8])
    case cut(Int)
    /// Separates the operations of a checkpoint from those after it.
    case mark(Int64)
  }

  private struct State {
    var bytes: [UInt8] = []
    var steps: [Step] = []
  }
  private let state: Mutex<State>
  let name = "memory"
  let isWritable = true

  init(_ bytes: some Sequence<UInt8> = []) { state = Mutex(State(bytes: Array(bytes))) }

  var bytes: [UInt8] { state.withLock { $0.bytes } }
  var steps: [Step] { state.withLock { $0.steps } }

  func mark(_ packets: Int64) { state.withLock { $0.steps.append(.mark(packets)) } }

  func byteCount() throws(SoundFileError) -> Int64 { state.withLock { Int64($0.bytes.count) } }

  func read(
    at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    state.withLock { state in
      guard offset >= 0, offset < state.bytes.count else { return 0 }
      let count = min(buffer.count, state.bytes.count - Int(offset))
      state.bytes.withUnsafeBytes {
        buffer.copyMemory(
          from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)..<Int(offset) + count]))
      }
      return count
    }
  }

  func write(at offset: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError) {
    guard !buffer.isEmpty else { return }
    state.withLock { state in
      Self.write(Array(buffer), at: Int(offset), in: &state.bytes)
      state.steps.append(.write(offset: Int(offset), bytes: Array(buffer)))
    }
  }

  func setByteCount(_ count: Int64) throws(SoundFileError) {
    state.withLock { state in
      Self.cut(&state.bytes, Int(count))
      state.steps.append(.cut(Int(count)))
    }
  }

  func synchronize() throws(SoundFileError) {}

  private static func write(_ new: [UInt8], at offset: Int, in bytes: inout [UInt8]) {
    if bytes.count < offset + new.count { cut(&bytes, offset + new.count) }
    bytes.replaceSubrange(offset..<offset + new.count, with: new)
  }

  private static func cut(_ bytes: inout [UInt8], _ count: Int) {
    if count < bytes.count {
      bytes.removeLast(bytes.count - count)
    } else {
      bytes += [UInt8](repeating: 0, count: count - bytes.count)
    }
  }

  /// Calls `body` with the store's content after each operation, and the last mark before it.
  func replay(_ body: ([UInt8], Int64) throws -> Void) rethrows {
    var bytes: [UInt8] = []
    var marked: Int64 = 0
    for step in steps {
      switch step {
      case .write(let offset, let new): Self.write(new, at: offset, in: &bytes)
      case .cut(let count): Self.cut(&bytes, count)
      case .mark(let packets): marked = packets
      }
      try body(bytes, marked)
    }
  }
}

/// A store that counts its reads.
final class CountingStore: ByteStore, @unchecked Sendable {
  private let store: ReplayedStore
  private(set) var reads = 0
  let name = "memory"
  let isWritable = false
  init(_ bytes: some Sequence<UInt8>) { store = ReplayedStore(bytes) }
  func byteCount() throws(SoundFileError) -> Int64 { try store.byteCount() }
  func read(
    at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    reads += 1
    return try store.read(at: offset, into: buffer)
  }
  func write(at offset: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError) {}
  func setByteCount(_ count: Int64) throws(SoundFileError) {}
  func synchronize() {}
}
