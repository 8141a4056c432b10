import AudioToolbox
import AudioUnits
public import Foundation
import Server

extension AVAudioSession {
  /// A category of sound, which decides what may start. JACK mixes the sound of all programs, whatever
  /// the category.
  public struct Category: RawRepresentable, Hashable, Sendable {
    /// The name of Apple's constant.
    public let rawValue: String
    /// Creates a category from the name of Apple's constant.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Playback.
    public static let ambient = Self(rawValue: "AVAudioSessionCategoryAmbient")
    /// Playback. The first category.
    public static let soloAmbient = Self(rawValue: "AVAudioSessionCategorySoloAmbient")
    /// Playback.
    public static let playback = Self(rawValue: "AVAudioSessionCategoryPlayback")
    /// Recording. An output unit that also plays is silent.
    public static let record = Self(rawValue: "AVAudioSessionCategoryRecord")
    /// Playback and recording.
    public static let playAndRecord = Self(rawValue: "AVAudioSessionCategoryPlayAndRecord")
    /// Neither playback nor recording.
    public static let audioProcessing = Self(rawValue: "AVAudioSessionCategoryAudioProcessing")
  }

  /// A special purpose within a category. Nothing processes the signal here, in any mode.
  public struct Mode: RawRepresentable, Hashable, Sendable {
    /// The name of Apple's constant.
    public let rawValue: String
    /// Creates a mode from the name of Apple's constant.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// With every category.
    public static let `default` = Self(rawValue: "AVAudioSessionModeDefault")
    /// With `playAndRecord` only.
    public static let voiceChat = Self(rawValue: "AVAudioSessionModeVoiceChat")
    /// With `playAndRecord` and `record` only.
    public static let videoRecording = Self(rawValue: "AVAudioSessionModeVideoRecording")
    /// With every category.
    public static let measurement = Self(rawValue: "AVAudioSessionModeMeasurement")
    /// With `playAndRecord` only.
    public static let gameChat = Self(rawValue: "AVAudioSessionModeGameChat")
    /// With `playback` only.
    public static let moviePlayback = Self(rawValue: "AVAudioSessionModeMoviePlayback")
    /// With `playAndRecord` only.
    public static let videoChat = Self(rawValue: "AVAudioSessionModeVideoChat")
    /// With the categories that play.
    public static let spokenAudio = Self(rawValue: "AVAudioSessionModeSpokenAudio")
    /// With the categories that play.
    public static let voicePrompt = Self(rawValue: "AVAudioSessionModeVoicePrompt")
  }

  /// Options of a category. They change no sound here.
  public struct CategoryOptions: OptionSet, Sendable {
    /// The options as bits.
    public let rawValue: UInt
    /// Creates options from bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }
    /// Mixes with other programs, as JACK always does. With `playback` and `playAndRecord` only.
    public static let mixWithOthers = Self(rawValue: 0x1)
    /// Lowers other programs, which JACK never does. With `playback` and `playAndRecord` only.
    public static let duckOthers = Self(rawValue: 0x2)
    /// With `record` and `playAndRecord` only.
    public static let allowBluetooth = Self(rawValue: 0x4)
    /// The later name of `allowBluetooth`.
    public static let allowBluetoothHFP = allowBluetooth
    /// Plays to the speaker, which the sound card's ports always are. With `playAndRecord` only.
    public static let defaultToSpeaker = Self(rawValue: 0x8)
    /// With `playback` and `playAndRecord` only.
    public static let interruptSpokenAudioAndMixWithOthers = Self(rawValue: 0x11)
    /// With `playAndRecord` only.
    public static let allowBluetoothA2DP = Self(rawValue: 0x20)
    /// With `playAndRecord` only.
    public static let allowAirPlay = Self(rawValue: 0x40)
    /// With `record` and `playAndRecord` only.
    public static let overrideMutedMicrophoneInterruption = Self(rawValue: 0x80)
  }

  /// The group of programs that share a route. Each program has its own connections here, whatever the policy.
  public enum RouteSharingPolicy: UInt, Sendable {
    /// With every category.
    case `default` = 0
    /// With `playback` only.
    case longFormAudio = 1
    /// Not for programs to set.
    case independent = 2
    /// With `playback` only.
    case longFormVideo = 3
  }

  /// The permission to record.
  public enum RecordPermission: UInt, Sendable {
    /// Does not occur here.
    case undetermined = 0x756e_6474
    /// Does not occur here.
    case denied = 0x6465_6e79
    /// The program may record.
    case granted = 0x6772_6e74
  }

  /// Options of `setActive`.
  public struct SetActiveOptions: OptionSet, Sendable {
    /// The options as bits.
    public let rawValue: UInt
    /// Creates options from bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }
    /// Tells other programs that they may go on. JACK interrupts none.
    public static let notifyOthersOnDeactivation = Self(rawValue: 1)
  }

  /// A destination of the output in place of the usual one.
  public enum PortOverride: UInt, Sendable {
    case none = 0
    case speaker = 0x7370_6b72
  }

  /// A state of an interruption: the server has gone, or is back.
  public enum InterruptionType: UInt, Sendable {
    case ended = 0
    case began = 1
  }

  /// Advice to a program at the end of an interruption.
  public struct InterruptionOptions: OptionSet, Sendable {
    /// The options as bits.
    public let rawValue: UInt
    /// Creates options from bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }
    /// The program may go on. Each interruption has this option here.
    public static let shouldResume = Self(rawValue: 1)
  }

  /// The reason of a route change.
  public enum RouteChangeReason: UInt, Sendable {
    case unknown = 0
    /// A port of the program has been connected to one of the sound card.
    case newDeviceAvailable = 1
    /// A port of the program has been disconnected from one of the sound card, or that port has gone.
    case oldDeviceUnavailable = 2
    /// The category has changed.
    case categoryChange = 3
    /// Does not occur here.
    case override = 4
    /// Does not occur here.
    case wakeFromSleep = 6
    /// The category has changed to one that records, and the sound card has no input.
    case noSuitableRouteForCategory = 7
    /// Does not occur here.
    case routeConfigurationChange = 8
  }

  /// A type of ports.
  public struct Port: RawRepresentable, Hashable, Sendable {
    /// The name of the type.
    public let rawValue: String
    /// Creates a type from its name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Inputs of a sound card. Every input has this type here.
    public static let lineIn = Self(rawValue: .lineIn)
    /// Outputs of a sound card. Every output has this type here.
    public static let lineOut = Self(rawValue: .lineOut)
  }
}

extension AVAudioSession.Category {
  private static let all: [(Self, AudioSessionCategory)] = [
    (.ambient, .ambient), (.soloAmbient, .soloAmbient), (.playback, .playback), (.record, .record),
    (.playAndRecord, .playAndRecord), (.audioProcessing, .processing),
  ]

  init(_ category: AudioSessionCategory) {
    self = Self.all.first { $0.1 == category }?.0 ?? .soloAmbient
  }

  var value: AudioSessionCategory {
    get throws(AudioSessionRefusal) {
      guard let found = Self.all.first(where: { $0.0 == self }) else {
        throw .badValue("there is no category \(rawValue)")
      }
      return found.1
    }
  }
}

extension AVAudioSession.Mode {
  private static let all: [(Self, AudioSessionMode)] = [
    (.default, .standard), (.voiceChat, .voiceChat), (.videoRecording, .videoRecording),
    (.measurement, .measurement), (.gameChat, .gameChat), (.moviePlayback, .moviePlayback),
    (.videoChat, .videoChat), (.spokenAudio, .spokenAudio), (.voicePrompt, .voicePrompt),
  ]

  init(_ mode: AudioSessionMode) { self = Self.all.first { $0.1 == mode }?.0 ?? .default }

  var value: AudioSessionMode {
    get throws(AudioSessionRefusal) {
      guard let found = Self.all.first(where: { $0.0 == self }) else {
        throw .badValue("there is no mode \(rawValue)")
      }
      return found.1
    }
  }
}

/// The ports of a sound card to which ports of the program are connected.
open class AVAudioSessionRouteDescription: NSObject, @unchecked Sendable {
  /// The sound cards that the program records from.
  public let inputs: [AVAudioSessionPortDescription]
  /// The sound cards that the program plays to.
  public let outputs: [AVAudioSessionPortDescription]

  init(_ route: CardRoute, on server: String) {
    inputs = route.inputCards.map { AVAudioSessionPortDescription($0, .lineIn, server) }
    outputs = route.outputCards.map { AVAudioSessionPortDescription($0, .lineOut, server) }
  }
}

/// A sound card in a route, in one direction.
open class AVAudioSessionPortDescription: NSObject, @unchecked Sendable {
  /// The type: `lineIn` or `lineOut`.
  public let portType: AVAudioSession.Port
  /// The name of the card's JACK client.
  public let portName: String
  /// A unique ID, with the name of the server.
  public let uid: String
  /// The card's ports in the route.
  public let channels: [AVAudioSessionChannelDescription]?

  init(_ card: RoutedCard, _ type: AVAudioSession.Port, _ server: String) {
    let uid = "jack:\(server)/\(card.name)"
    portType = type
    portName = card.name
    self.uid = uid
    channels = card.ports.enumerated().map {
      AVAudioSessionChannelDescription($0.element, number: $0.offset + 1, of: uid)
    }
  }
}

/// A port of a sound card in a route.
open class AVAudioSessionChannelDescription: NSObject, @unchecked Sendable {
  /// The full name of the JACK port.
  public let channelName: String
  /// The number of the port in the route, from 1 on.
  public let channelNumber: Int
  /// The unique ID of the sound card.
  public let owningPortUID: String

  init(_ name: String, number: Int, of uid: String) {
    channelName = name
    channelNumber = number
    owningPortUID = uid
  }
}
