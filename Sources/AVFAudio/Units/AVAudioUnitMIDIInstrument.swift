public import AudioToolbox
import AudioUnits
import Foundation
import Logging
import System

/// A node that makes the sound of notes: an LV2 instrument, or one of the program's.
///
/// Messages take effect with the next render, in order. One with a number outside MIDI's range, or before the node is
/// attached, has no effect but a message in the log.
open class AVAudioUnitMIDIInstrument: AVAudioUnit, AVAudioMixing, MixedNode, @unchecked Sendable {
  let mixing = MixingSettings()

  override init(_ made: MadeUnit) { super.init(made) }

  /// Creates an instrument. Ends the program if there is no such component, or it is none:
  /// `AVAudioUnit.instantiate` throws instead.
  public init(audioComponentDescription description: AudioComponentDescription) {
    super.init(
      MadeUnit(
        description, for: "AVAudioUnitMIDIInstrument", types: [kAudioUnitType_MusicDevice]))
  }

  // MARK: Messages

  /// Begins a note. A velocity of 0 ends it.
  open func startNote(_ note: UInt8, withVelocity velocity: UInt8, onChannel channel: UInt8) {
    send(0x90, channel, [note, velocity])
  }

  /// Ends a note.
  open func stopNote(_ note: UInt8, onChannel channel: UInt8) { send(0x80, channel, [note, 64]) }

  /// Moves a controller.
  open func sendController(_ controller: UInt8, withValue value: UInt8, onChannel channel: UInt8) {
    send(0xB0, channel, [controller, value])
  }

  /// Bends the pitch: 0 to 16,383, which is straight at 8,192.
  open func sendPitchBend(_ pitchbend: UInt16, onChannel channel: UInt8) {
    send(0xE0, channel, [UInt8(pitchbend & 0x7F), UInt8(min(pitchbend >> 7, 0xFF))])
  }

  /// Sends the pressure on all keys of a channel.
  open func sendPressure(_ pressure: UInt8, onChannel channel: UInt8) {
    send(0xD0, channel, [pressure])
  }

  /// Sends the pressure on one key.
  open func sendPressure(forKey key: UInt8, withValue value: UInt8, onChannel channel: UInt8) {
    send(0xA0, channel, [key, value])
  }

  /// Changes the program.
  open func sendProgramChange(_ program: UInt8, onChannel channel: UInt8) {
    send(0xC0, channel, [program])
  }

  /// Changes the bank and the program.
  open func sendProgramChange(
    _ program: UInt8, bankMSB: UInt8, bankLSB: UInt8, onChannel channel: UInt8
  ) {
    sendController(0, withValue: bankMSB, onChannel: channel)
    sendController(32, withValue: bankLSB, onChannel: channel)
    sendProgramChange(program, onChannel: channel)
  }

  /// Sends a channel message of two data bytes.
  open func sendMIDIEvent(_ midiStatus: UInt8, data1: UInt8, data2: UInt8) {
    send(midiStatus & 0xF0, midiStatus & 0x0F, [data1, data2])
  }

  /// Sends a channel message of one data byte.
  open func sendMIDIEvent(_ midiStatus: UInt8, data1: UInt8) {
    send(midiStatus & 0xF0, midiStatus & 0x0F, [data1])
  }

  /// Sends a system exclusive message, from 0xF0 to 0xF7.
  open func sendMIDISysExEvent(_ midiData: Data) {
    let isWhole = midiData.count >= 2 && midiData.first == 0xF0 && midiData.last == 0xF7
    send(Array(midiData), isValid: isWhole)
  }

  /// - Parameters:
  ///   - status: 0x80 to 0xE0.
  ///   - data: As many bytes as the message has, or one more for a message of one.
  private func send(_ status: UInt8, _ channel: UInt8, _ data: [UInt8]) {
    // Program changes and channel pressure have one data byte.
    let count = status & 0xE0 == 0xC0 ? 1 : 2
    let isValid =
      (0x80...0xE0).contains(status) && channel < 16 && data.count >= count
      && data.allSatisfy { $0 < 0x80 }
    send([status | channel & 0x0F] + data.prefix(count), isValid: isValid)
  }

  private func send(_ message: [UInt8], isValid: Bool) {
    guard isValid else {
      log.warning("AVAudioUnitMIDIInstrument: \(message) is no MIDI message for \(name)")
      return
    }
    do throws(UnitError) { try core.send(midi: message, offset: 0) } catch {
      log.warning("AVAudioUnitMIDIInstrument: \(name) does not hear \(message): \(error.reason)")
    }
  }
}
