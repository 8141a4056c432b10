public import CAudioToolbox
import MIDI

// Lists of MIDIServices.h. The header documents each function.

/// Where the parts of a list of packets lie, in bytes.
enum MIDIPacketLayout {
  static let first = 4
  static let header = 10

  /// Returns the number of bytes from a packet to the next.
  static func next(_ bytes: Int) -> Int {
    #if arch(arm64)
      (bytes + 3) & ~3
    #else
      bytes
    #endif
  }

  /// Returns the address behind a packet.
  static func next(_ packet: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    unsafe packet + next(header + length(packet))
  }

  static func length(_ packet: UnsafeRawPointer) -> Int {
    unsafe Int(packet.loadUnaligned(fromByteOffset: 8, as: UInt16.self))
  }

  /// Returns the packets of a list.
  static func packets(_ list: UnsafePointer<MIDIPacketList>) -> [MIDIToSend] {
    var packet = unsafe UnsafeRawPointer(list) + first
    return unsafe (0..<list.pointee.numPackets).map { _ in
      let time = unsafe packet.loadUnaligned(as: UInt64.self)
      let count = unsafe length(packet)
      let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: packet + header, count: count))
      unsafe packet += next(header + count)
      return MIDIToSend(bytes, at: time)
    }
  }

  /// Returns the packets of a list of universal packets; at most 64 words of each.
  static func packets(_ list: UnsafePointer<MIDIEventList>) -> [(hostTime: UInt64, words: [UInt32])]
  {
    var packet = unsafe UnsafeRawPointer(list) + MemoryLayout<MIDIEventList>.offset(of: \.packet)!
    return unsafe (0..<list.pointee.numPackets).map { _ in
      let time = unsafe packet.loadUnaligned(as: UInt64.self)
      let count = unsafe packet.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
      let words = (0..<Int(min(count, 64))).map { i in
        unsafe packet.loadUnaligned(fromByteOffset: 12 + 4 * i, as: UInt32.self)
      }
      unsafe packet += 12 + 4 * words.count
      return (time, words)
    }
  }
}

/// Empties a list.
@c(MIDIPacketListInit)
public func initializePacketList(_ pktlist: UnsafeMutablePointer<MIDIPacketList>)
  -> UnsafeMutablePointer<MIDIPacket>?
{
  if unsafe hasNull([pktlist]) { return nil }
  unsafe pktlist.pointee.numPackets = 0
  let first = unsafe UnsafeMutableRawPointer(pktlist) + MIDIPacketLayout.first
  unsafe first.storeBytes(of: 0, toByteOffset: 8, as: UInt16.self)
  return unsafe first.assumingMemoryBound(to: MIDIPacket.self)
}

/// Adds bytes to a list.
@c(MIDIPacketListAdd)
public func addPacket(
  _ pktlist: UnsafeMutablePointer<MIDIPacketList>, _ listSize: Int,
  _ curPacket: UnsafeMutablePointer<MIDIPacket>, _ time: MIDITimeStamp, _ nData: Int,
  _ data: UnsafePointer<UInt8>
) -> UnsafeMutablePointer<MIDIPacket>? {
  let pointers = unsafe [
    UnsafeRawPointer(pktlist), UnsafeRawPointer(curPacket), UnsafeRawPointer(data),
  ]
  let count = nData
  if unsafe hasNull(pointers) || count < 0 || count > Int(UInt16.max) || listSize < 0 { return nil }
  let end = unsafe UnsafeMutableRawPointer(pktlist) + listSize
  var packet = UnsafeMutableRawPointer(curPacket)
  if unsafe pktlist.pointee.numPackets > 0 {
    let used = unsafe MIDIPacketLayout.length(packet)
    let behind = unsafe packet + MIDIPacketLayout.header + used
    let isJoined =
      unsafe used > 0 && count > 0 && used + count <= Int(UInt16.max)
      && packet.loadUnaligned(as: UInt64.self) == time && isStatus(behind - used)
      && isStatus(UnsafeRawPointer(data))
    if isJoined {
      if unsafe behind + count > end { return nil }
      unsafe behind.copyMemory(from: data, byteCount: count)
      unsafe packet.storeBytes(of: UInt16(used + count), toByteOffset: 8, as: UInt16.self)
      return unsafe curPacket
    }
    unsafe packet = MIDIPacketLayout.next(packet)
  }
  if unsafe packet + MIDIPacketLayout.header + count > end { return nil }
  unsafe packet.storeBytes(of: time, as: UInt64.self)
  unsafe packet.storeBytes(of: UInt16(count), toByteOffset: 8, as: UInt16.self)
  unsafe (packet + MIDIPacketLayout.header).copyMemory(from: data, byteCount: count)
  unsafe pktlist.pointee.numPackets += 1
  return unsafe packet.assumingMemoryBound(to: MIDIPacket.self)
}

/// Whether bytes begin with the status of a message that is not system exclusive.
private func isStatus(_ bytes: UnsafeRawPointer) -> Bool {
  let first = unsafe bytes.load(as: UInt8.self)
  return first >= 0x80 && first != 0xF0 && first != 0xF7
}

/// Empties a list.
@c(MIDIEventListInit)
public func initializeEventList(
  _ evtlist: UnsafeMutablePointer<MIDIEventList>, _ protocol: MIDIProtocolID
) -> UnsafeMutablePointer<MIDIEventPacket>? {
  if unsafe hasNull([evtlist]) { return nil }
  unsafe evtlist.pointee.protocol = `protocol`
  unsafe evtlist.pointee.numPackets = 0
  let first =
    unsafe UnsafeMutableRawPointer(evtlist) + MemoryLayout<MIDIEventList>.offset(of: \.packet)!
  return unsafe first.assumingMemoryBound(to: MIDIEventPacket.self)
}

/// Adds a packet to a list.
@c(MIDIEventListAdd)
public func addEventPacket(
  _ evtlist: UnsafeMutablePointer<MIDIEventList>, _ listSize: Int,
  _ curPacket: UnsafeMutablePointer<MIDIEventPacket>, _ time: MIDITimeStamp, _ wordCount: Int,
  _ words: UnsafePointer<UInt32>
) -> UnsafeMutablePointer<MIDIEventPacket>? {
  if unsafe hasNull([
    UnsafeRawPointer(evtlist), UnsafeRawPointer(curPacket), UnsafeRawPointer(words),
  ]) || wordCount < 1 || wordCount > 64 {
    return nil
  }
  let packet = UnsafeMutableRawPointer(curPacket)
  let end = unsafe packet + 12 + 4 * wordCount
  if unsafe end > UnsafeMutableRawPointer(evtlist) + listSize { return nil }
  unsafe packet.storeBytes(of: time, as: UInt64.self)
  unsafe packet.storeBytes(of: UInt32(wordCount), toByteOffset: 8, as: UInt32.self)
  unsafe (packet + 12).copyMemory(from: words, byteCount: 4 * wordCount)
  unsafe evtlist.pointee.numPackets += 1
  return unsafe end.assumingMemoryBound(to: MIDIEventPacket.self)
}
