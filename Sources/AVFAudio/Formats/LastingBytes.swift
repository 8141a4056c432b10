import Foundation
import Synchronization

/// Copies of C structures that are never freed, one for each content: a program may read them after the object that
/// gave it the pointer. Any thread.
enum LastingBytes {
  private static let copies = Mutex<[[UInt8]: UInt]>([:])

  /// Returns the address of the copy of a structure.
  static func address(of bytes: [UInt8]) -> UnsafeRawPointer {
    let number = copies.withLock { copies in
      if let known = copies[bytes] { return known }
      let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
      unsafe memory.copyBytes(from: bytes)
      let number = UInt(bitPattern: memory.baseAddress)
      copies[bytes] = number
      return number
    }
    return unsafe UnsafeRawPointer(bitPattern: number)!
  }
}
