// Plays the notes of MIDI keyboards through a SoundFont.
//
// Usage: keyboard [-f SOUNDFONT] [SOURCE]
//
// To build it on its own, give a package's executable target the product AudioToolbox of the package
// Cuejack, and copy this file into it. Run it on a JACK server: keyboard -f piano.sf2 "Keystation"
//
// It listens to the sources whose names begin with SOURCE, to all without one, and to its own port “Keyboard”, which any
// program can send to. A line or the end of the standard input ends it.

import AVFoundation
import CoreMIDI

func fail(_ text: String, code: Int32 = 1) -> Never {
  FileHandle.standardError.write(Data("keyboard: \(text)\n".utf8))
  exit(code)
}

func check(_ status: OSStatus, _ what: String) {
  if status != noErr { fail("\(what): error \(status)") }
}

func name(of endpoint: MIDIEndpointRef) -> String {
  var text: Unmanaged<CFString>?
  guard MIDIObjectGetStringProperty(endpoint, kMIDIPropertyDisplayName, &text) == noErr else {
    return ""
  }
  return text!.takeRetainedValue() as String
}

/// Listens to sources, and hands what comes in to a sampler. A thread of Core MIDI calls the blocks.
func listen(to prefix: String, _ sampler: AVAudioUnitSampler) {
  let play: MIDIReceiveBlock = { list, _ in
    for packet in list.unsafeSequence() {
      for word in packet.words() where word >> 28 == 2 {
        // A message of a MIDI channel.
        let (status, data1, data2) = (word >> 16 & 0xFF, word >> 8 & 0x7F, word & 0x7F)
        if status & 0xE0 == 0xC0 {
          sampler.sendMIDIEvent(UInt8(status), data1: UInt8(data1))
        } else {
          sampler.sendMIDIEvent(UInt8(status), data1: UInt8(data1), data2: UInt8(data2))
        }
      }
    }
  }
  var client = MIDIClientRef()
  var port = MIDIPortRef()
  var own = MIDIEndpointRef()
  check(MIDIClientCreateWithBlock("keyboard" as CFString, &client, nil), "no MIDI client")
  check(
    MIDIInputPortCreateWithProtocol(client, "In" as CFString, ._1_0, &port, play), "no MIDI port")
  check(
    MIDIDestinationCreateWithProtocol(client, "Keyboard" as CFString, ._1_0, &own, play),
    "no MIDI destination")
  for i in 0..<MIDIGetNumberOfSources() {
    let source = MIDIGetSource(i)
    guard name(of: source).hasPrefix(prefix) else { continue }
    check(MIDIPortConnectSource(port, source, nil), name(of: source))
    print("listening to \(name(of: source))")
  }
}

var words = Array(CommandLine.arguments.dropFirst())
var soundFont: String?
if words.first == "-f", words.count >= 2 {
  soundFont = words[1]
  words.removeFirst(2)
}
guard words.count < 2, words.first?.hasPrefix("-") != true else {
  fail("usage: keyboard [-f SOUNDFONT] [SOURCE]", code: 64)
}
let engine = AVAudioEngine()
let sampler = AVAudioUnitSampler()
engine.attach(sampler)
// The rate of the server: nothing is converted.
let format = engine.mainMixerNode.outputFormat(forBus: 0)
guard format.channelCount > 0 else { fail("there is no server") }
engine.connect(sampler, to: engine.mainMixerNode, format: format)
do {
  if let soundFont { try sampler.loadInstrument(at: URL(fileURLWithPath: soundFont)) }
  try engine.start()
} catch { fail(error.localizedDescription) }
listen(to: words.first ?? "", sampler)
print("ready")
fflush(nil)
_ = readLine()
engine.stop()
