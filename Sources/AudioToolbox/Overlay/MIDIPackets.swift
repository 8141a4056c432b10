// The C headers have the documentation.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import CAudioToolbox
public import CoreFoundation

// The names of properties, which are macros in C, and the packets of lists in Swift.

// MARK: Names

public var kMIDIPropertyName: CFString { "name".cfString }
public var kMIDIPropertyDisplayName: CFString { "displayName".cfString }
public var kMIDIPropertyManufacturer: CFString { "manufacturer".cfString }
public var kMIDIPropertyModel: CFString { "model".cfString }
public var kMIDIPropertyUniqueID: CFString { "uniqueID".cfString }
public var kMIDIPropertyDeviceID: CFString { "deviceID".cfString }
public var kMIDIPropertyReceiveChannels: CFString { "receive channels".cfString }
public var kMIDIPropertyTransmitChannels: CFString { "transmit channels".cfString }
public var kMIDIPropertyMaxSysExSpeed: CFString { "max SysEx speed".cfString }
public var kMIDIPropertyAdvanceScheduleTimeMuSec: CFString { "scheduleAheadMuSec".cfString }
public var kMIDIPropertyIsEmbeddedEntity: CFString { "embedded".cfString }
public var kMIDIPropertyIsBroadcast: CFString { "broadcast".cfString }
public var kMIDIPropertySingleRealtimeEntity: CFString { "single realtime entity".cfString }
public var kMIDIPropertyConnectionUniqueID: CFString { "connUniqueID".cfString }
public var kMIDIPropertyOffline: CFString { "offline".cfString }
public var kMIDIPropertyPrivate: CFString { "private".cfString }
public var kMIDIPropertyDriverOwner: CFString { "driver".cfString }
public var kMIDIPropertyDriverVersion: CFString { "driverVersion".cfString }
public var kMIDIPropertyNameConfiguration: CFString { "nameConfiguration".cfString }
public var kMIDIPropertyNameConfigurationDictionary: CFString {
  "nameConfigurationDictionary".cfString
}
public var kMIDIPropertyImage: CFString { "image".cfString }
public var kMIDIPropertySupportsGeneralMIDI: CFString { "supports General MIDI".cfString }
public var kMIDIPropertySupportsMMC: CFString { "supports MMC".cfString }
public var kMIDIPropertyCanRoute: CFString { "can route".cfString }
public var kMIDIPropertyReceivesClock: CFString { "receives clock".cfString }
public var kMIDIPropertyReceivesMTC: CFString { "receives MTC".cfString }
public var kMIDIPropertyReceivesNotes: CFString { "receives notes".cfString }
public var kMIDIPropertyReceivesProgramChanges: CFString { "receives program changes".cfString }
public var kMIDIPropertyTransmitsClock: CFString { "transmits clock".cfString }
public var kMIDIPropertyTransmitsMTC: CFString { "transmits MTC".cfString }
public var kMIDIPropertyTransmitsNotes: CFString { "transmits notes".cfString }
public var kMIDIPropertyTransmitsProgramChanges: CFString { "transmits program changes".cfString }
public var kMIDIPropertyIsSampler: CFString { "is sampler".cfString }
public var kMIDIPropertyIsDrumMachine: CFString { "is drum machine".cfString }
public var kMIDIPropertyIsMixer: CFString { "is mixer".cfString }
public var kMIDIPropertyIsEffectUnit: CFString { "is effect unit".cfString }
public var kMIDIPropertyProtocolID: CFString { "protocol".cfString }

// MARK: Packets

extension UnsafePointer where Pointee == MIDIPacketList {
  /// The packets of the list, in the memory of the list.
  public func unsafeSequence() -> MIDIPacketList.UnsafeSequence { unsafe .init(self) }
}

extension MIDIPacketList {
  /// Pointers to the packets of a list, which must exist as long.
  @safe public struct UnsafeSequence: @unsafe Sequence, @unsafe IteratorProtocol {
    private var current: UnsafePointer<MIDIPacket>
    private var count: UInt32

    public init(_ list: UnsafePointer<MIDIPacketList>) {
      let first = unsafe UnsafeRawPointer(list) + MIDIPacketLayout.first
      unsafe current = first.assumingMemoryBound(to: MIDIPacket.self)
      count = unsafe list.pointee.numPackets
    }

    public mutating func next() -> UnsafePointer<MIDIPacket>? {
      if count == 0 { return nil }
      count -= 1
      let packet = unsafe current
      unsafe current = UnsafePointer(MIDIPacketNext(packet))
      return unsafe packet
    }
  }
}

extension UnsafePointer where Pointee == MIDIPacket {
  /// The bytes of the packet, in its memory.
  public func bytes() -> UnsafeRawBufferPointer {
    let start = unsafe UnsafeRawPointer(self) + MIDIPacketLayout.header
    return unsafe UnsafeRawBufferPointer(
      start: start, count: MIDIPacketLayout.length(UnsafeRawPointer(self)))
  }

  /// The bytes of the packet, in its memory.
  public func sequence() -> UnsafeBufferPointer<UInt8> {
    unsafe bytes().bindMemory(to: UInt8.self)
  }
}

extension UnsafePointer where Pointee == MIDIEventList {
  /// The packets of the list, in the memory of the list.
  public func unsafeSequence() -> MIDIEventList.UnsafeSequence { unsafe .init(self) }
}

extension MIDIEventList {
  /// Pointers to the packets of a list, which must exist as long.
  @safe public struct UnsafeSequence: @unsafe Sequence, @unsafe IteratorProtocol {
    private var current: UnsafePointer<MIDIEventPacket>
    private var count: UInt32

    public init(_ list: UnsafePointer<MIDIEventList>) {
      let first =
        unsafe UnsafeRawPointer(list) + MemoryLayout<MIDIEventList>.offset(of: \.packet)!
      unsafe current = first.assumingMemoryBound(to: MIDIEventPacket.self)
      count = unsafe list.pointee.numPackets
    }

    public mutating func next() -> UnsafePointer<MIDIEventPacket>? {
      if count == 0 { return nil }
      count -= 1
      let packet = unsafe current
      unsafe current = UnsafePointer(MIDIEventPacketNext(packet))
      return unsafe packet
    }
  }
}

extension UnsafePointer where Pointee == MIDIEventPacket {
  /// The words of the packet, in its memory.
  public func words() -> UnsafeBufferPointer<UInt32> {
    let start = unsafe UnsafeRawPointer(self) + 12
    let count = unsafe Int(min(pointee.wordCount, 64))
    return unsafe UnsafeBufferPointer(
      start: start.assumingMemoryBound(to: UInt32.self), count: count)
  }
}
