// A virtual source, heard by ports of both kinds, and what the system knows of it.
import CoreMIDI
import Foundation

final class Collector: @unchecked Sendable {
  private let lock = NSLock()
  private var lines: [String] = []

  func add(_ line: String) {
    lock.lock()
    lines.append(line)
    lock.unlock()
  }

  var count: Int {
    lock.lock()
    defer { lock.unlock() }
    return lines.count
  }

  func finish() {
    lock.lock()
    for line in lines.sorted() { print(line) }
    lock.unlock()
  }
}

func check(_ status: OSStatus, _ what: String) {
  if status != noErr {
    print("\(what): \(status)")
    exit(1)
  }
}

func name(of object: MIDIObjectRef, _ property: CFString = kMIDIPropertyName) -> String {
  var text: Unmanaged<CFString>?
  guard MIDIObjectGetStringProperty(object, property, &text) == noErr else { return "?" }
  return text!.takeRetainedValue() as String
}

let collector = Collector()
var client = MIDIClientRef()
check(
  MIDIClientCreateWithBlock("swift midi" as CFString, &client) { message in
    if message.pointee.messageID == .msgObjectAdded { collector.add("added") }
  }, "client")

var source = MIDIEndpointRef()
check(MIDISourceCreate(client, "Keys" as CFString, &source), "source")
check(MIDIObjectSetStringProperty(source, kMIDIPropertyModel, "M" as CFString), "model")

var bytesPort = MIDIPortRef()
check(
  MIDIInputPortCreateWithBlock(client, "bytes" as CFString, &bytesPort) { list, _ in
    for packet in list.unsafeSequence() {
      let bytes = packet.bytes().map { String($0, radix: 16) }
      collector.add("bytes \(bytes.joined(separator: " "))")
    }
  }, "bytes")

var wordsPort = MIDIPortRef()
check(
  MIDIInputPortCreateWithProtocol(client, "words" as CFString, ._1_0, &wordsPort) { list, _ in
    for packet in list.unsafeSequence() {
      for word in packet.words() { collector.add("word \(String(word, radix: 16))") }
    }
  }, "words")

check(MIDIPortConnectSource(bytesPort, source, nil), "connect")
check(MIDIPortConnectSource(wordsPort, source, nil), "connect")

var list = MIDIPacketList()
let first = MIDIPacketListInit(&list)
let note: [UInt8] = [0x90, 60, 100]
_ = MIDIPacketListAdd(&list, MemoryLayout<MIDIPacketList>.size, first, 0, note.count, note)
check(MIDIReceived(source, &list), "received")

let deadline = Date(timeIntervalSinceNow: 30)
while collector.count < 3, Date() < deadline { usleep(1000) }
collector.finish()
let index = (0..<MIDIGetNumberOfSources()).first { MIDIGetSource($0) == source }
print(name(of: MIDIGetSource(index!)), name(of: source, kMIDIPropertyModel))
var object = MIDIObjectRef()
var type = MIDIObjectType.other
var id: Int32 = 0
check(MIDIObjectGetIntegerProperty(source, kMIDIPropertyUniqueID, &id), "id")
check(MIDIObjectFindByUniqueID(id, &object, &type), "find")
print(object == source, type == .source)
check(MIDIPortDispose(wordsPort), "dispose")
check(MIDIClientDispose(client), "dispose")
