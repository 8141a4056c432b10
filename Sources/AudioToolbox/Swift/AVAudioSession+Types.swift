import AudioUnits
public import CAudioToolbox
public import Foundation
import Server

/// The reason why a call for the audio session failed: a result code of `AudioSession.h` other than
/// `noErr`.
public struct AudioSessionError: Error, Hashable, Sendable {
  /// The result code.
  public let status: OSStatus

  /// Creates an error from a result code.
  public init(_ status: OSStatus) { self.status = status }
}

extension AudioSessionError: CustomStringConvertible, LocalizedError {
  /// The name of the result code's constant and an explanation.
  public var description: String {
    switch status {
    case kAudioSessionUnsupportedPropertyError:
      "kAudioSessionUnsupportedPropertyError: there is no such value"
    case kAudioSessionIncompatibleCategory:
      "kAudioSessionIncompatibleCategory: the category does not allow it"
    case kAudioServicesNoHardwareError:
      "kAudioServicesNoHardwareError: the sound server cannot be reached"
    default: "OSStatus \(status)"
    }
  }

  /// The same text, for code that holds an `any Error`.
  public var errorDescription: String? { description }
}

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
  }

  /// Options of a category. They change no sound here.
  public struct CategoryOptions: OptionSet, Sendable {
    /// The options as bits.
    public let rawValue: UInt
    /// Creates options from bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }
    /// Mixes with other programs, as JACK always does. With `playback` and `playAndRecord` only.
    public static let mixWithOthers = Self(rawValue: 1)
    /// Plays to the speaker, which the sound card's ports always are. With `playAndRecord` only.
    public static let defaultToSpeaker = Self(rawValue: 8)
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
    get throws(AudioSessionError) {
      guard let found = Self.all.first(where: { $0.0 == self }) else {
        throw AudioSessionError(kAudioSessionUnsupportedPropertyError)
      }
      return found.1
    }
  }
}

extension AVAudioSession.Mode {
  private static let all: [(Self, AudioSessionMode)] = [
    (.default, .standard), (.voiceChat, .voiceChat), (.videoRecording, .videoRecording),
    (.measurement, .measurement), (.gameChat, .gameChat),
  ]

  init(_ mode: AudioSessionMode) { self = Self.all.first { $0.1 == mode }?.0 ?? .default }

  var value: AudioSessionMode {
    get throws(AudioSessionError) {
      guard let found = Self.all.first(where: { $0.0 == self }) else {
        throw AudioSessionError(kAudioSessionUnsupportedPropertyError)
      }
      return found.1
    }
  }
}

/// The ports of a sound card to which ports of the program are connected.
public final class AVAudioSessionRouteDescription: Sendable {
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
public final class AVAudioSessionPortDescription: Sendable {
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
public final class AVAudioSessionChannelDescription: Sendable {
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
