/// Notes on a category. They change no sound: JACK mixes all programs, and the sound card's ports are
/// the speaker.
package struct AudioSessionOptions: OptionSet, Sendable {
  package let rawValue: UInt
  package init(rawValue: UInt) { self.rawValue = rawValue }
  package static let mixWithOthers = Self(rawValue: 1)
  package static let duckOthers = Self(rawValue: 2)
  package static let allowBluetooth = Self(rawValue: 4)
  package static let defaultToSpeaker = Self(rawValue: 8)
  package static let interruptSpokenAudio = Self(rawValue: 0x10)
  package static let allowBluetoothA2DP = Self(rawValue: 0x20)
  package static let allowAirPlay = Self(rawValue: 0x40)
  package static let overrideMutedMicrophone = Self(rawValue: 0x80)
}
