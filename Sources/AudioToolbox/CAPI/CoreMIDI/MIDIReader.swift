import CAudioToolbox
import MIDI
import Synchronization

/// Hands received messages to a program's function or block, as a list of packets.
final class MIDIReader: Sendable {
  @safe private struct Function: @unchecked Sendable {
    let call: ([MIDIReceived], UnsafeMutableRawPointer?) -> Void
  }
  private let function: Function

  init(calling proc: MIDIReadProc?, _ refCon: UnsafeMutableRawPointer?) throws(MIDIFailure) {
    guard let proc = unsafe proc else { throw .badArgument("there is no function") }
    function = unsafe Function { messages, tag in
      unsafe Self.withPacketList(messages) { unsafe proc($0, refCon, tag) }
    }
  }

  init(calling block: MIDIReadBlock?) throws(MIDIFailure) {
    guard let block = unsafe block else { throw .badArgument("there is no block") }
    function = unsafe Function { messages, tag in
      unsafe Self.withPacketList(messages) { unsafe block($0, tag) }
    }
  }

  init(_ protocol: Int32, calling block: MIDIReceiveBlock?) throws(MIDIFailure) {
    guard let block = unsafe block else { throw .badArgument("there is no block") }
    guard let version = UniversalMIDIWriter.Version(rawValue: `protocol`) else {
      throw .badArgument("there is no protocol \(`protocol`)")
    }
    // Each source may be in the middle of a system exclusive message.
    let writers = Mutex<[UInt: UniversalMIDIWriter]>([:])
    function = unsafe Function { messages, tag in
      let packets = writers.withLock { writers in
        messages.map { message in
          let words = writers[UInt(bitPattern: tag), default: UniversalMIDIWriter(version)]
            .packets(message.bytes)
          return (message.hostTime, words)
        }
      }
      unsafe Self.withEventList(packets, version) { unsafe block($0, tag) }
    }
  }

  /// - Parameter tag: The address that the connection has.
  func take(_ messages: [MIDIReceived], tag: UInt) {
    unsafe function.call(messages, UnsafeMutableRawPointer(bitPattern: tag))
  }

  /// Calls `body` with a list of the messages.
  private static func withPacketList(
    _ messages: [MIDIReceived], _ body: (UnsafePointer<MIDIPacketList>) -> Void
  ) {
    let pieces = messages.flatMap { message in
      stride(from: 0, to: message.bytes.count, by: Int(UInt16.max)).map {
        (message.hostTime, message.bytes[$0..<min($0 + Int(UInt16.max), message.bytes.count)])
      }
    }
    let size = pieces.reduce(4) { $0 + MIDIPacketLayout.next(MIDIPacketLayout.header + $1.1.count) }
    unsafe withUnsafeTemporaryAllocation(
      byteCount: max(size, MemoryLayout<MIDIPacketList>.size), alignment: 8
    ) { memory in
      guard let start = memory.baseAddress else { return }
      unsafe start.storeBytes(of: UInt32(pieces.count), as: UInt32.self)
      var packet = unsafe start + MIDIPacketLayout.first
      for (time, bytes) in pieces {
        unsafe packet.storeBytes(of: time, as: UInt64.self)
        unsafe packet.storeBytes(of: UInt16(bytes.count), toByteOffset: 8, as: UInt16.self)
        let data = unsafe packet + MIDIPacketLayout.header
        unsafe UnsafeMutableRawBufferPointer(start: data, count: bytes.count).copyBytes(from: bytes)
        unsafe packet = MIDIPacketLayout.next(packet)
      }
      unsafe body(start.assumingMemoryBound(to: MIDIPacketList.self))
    }
  }

  /// Calls `body` with a list of packets, of 64 words at most.
  private static func withEventList(
    _ packets: [(UInt64, [[UInt32]])], _ version: UniversalMIDIWriter.Version,
    _ body: (UnsafePointer<MIDIEventList>) -> Void
  ) {
    var pieces: [(UInt64, [UInt32])] = []
    for (time, messages) in packets {
      var words: [UInt32] = []
      for message in messages {
        if words.count + message.count > 64 {
          pieces.append((time, words))
          words = []
        }
        words += message
      }
      if !words.isEmpty { pieces.append((time, words)) }
    }
    if pieces.isEmpty { return }
    let size = pieces.reduce(8) { $0 + 12 + 4 * $1.1.count }
    unsafe withUnsafeTemporaryAllocation(
      byteCount: max(size, MemoryLayout<MIDIEventList>.size), alignment: 8
    ) {
      memory in
      guard let start = memory.baseAddress else { return }
      unsafe start.storeBytes(of: version.rawValue, as: Int32.self)
      unsafe start.storeBytes(of: UInt32(pieces.count), toByteOffset: 4, as: UInt32.self)
      var packet = unsafe start + 8
      for (time, words) in pieces {
        unsafe packet.storeBytes(of: time, as: UInt64.self)
        unsafe packet.storeBytes(of: UInt32(words.count), toByteOffset: 8, as: UInt32.self)
        let count = words.count
        unsafe words.withUnsafeBytes { words in
          if let words = words.baseAddress {
            unsafe (packet + 12).copyMemory(from: words, byteCount: 4 * count)
          }
        }
        unsafe packet += 12 + 4 * words.count
      }
      unsafe body(start.assumingMemoryBound(to: MIDIEventList.self))
    }
  }
}
