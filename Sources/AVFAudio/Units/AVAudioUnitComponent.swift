public import AudioToolbox
import AudioUnits
public import Foundation
import PluginHost

/// The name of a type of components, as `AVAudioUnitComponent.typeName` has it.
public let AVAudioUnitTypeOutput = "Output"
/// The type of instruments.
public let AVAudioUnitTypeMusicDevice = "Music Device"
/// The type of effects that hear MIDI.
public let AVAudioUnitTypeMusicEffect = "Music Effect"
/// The type of converters and time effects.
public let AVAudioUnitTypeFormatConverter = "Format Converter"
/// The type of effects.
public let AVAudioUnitTypeEffect = "Effect"
/// The type of mixers.
public let AVAudioUnitTypeMixer = "Mixer"
/// The type of panners.
public let AVAudioUnitTypePanner = "Panner"
/// The type of generators.
public let AVAudioUnitTypeGenerator = "Generator"
/// The type of units that change MIDI.
public let AVAudioUnitTypeMIDIProcessor = "MIDI Processor"
/// The manufacturer of the library's own units.
public let AVAudioUnitManufacturerNameApple = "Apple"

/// A component: what audio units are made of.
@safe
open class AVAudioUnitComponent: NSObject, @unchecked Sendable {
  private let component: UnitComponent

  init(_ component: UnitComponent) { self.component = component }

  /// The name, without the manufacturer's.
  open var name: String { component.names.name }
  /// The name of the manufacturer; of an LV2 plugin, its author.
  open var manufacturerName: String { component.names.manufacturer }

  /// The type in words: one of `AVAudioUnitTypeEffect` and its neighbours, or else its four characters.
  open var typeName: String {
    switch component.description.type {
    case kAudioUnitType_Output: AVAudioUnitTypeOutput
    case kAudioUnitType_MusicDevice: AVAudioUnitTypeMusicDevice
    case kAudioUnitType_MusicEffect: AVAudioUnitTypeMusicEffect
    case kAudioUnitType_FormatConverter: AVAudioUnitTypeFormatConverter
    case kAudioUnitType_Effect: AVAudioUnitTypeEffect
    case kAudioUnitType_Mixer: AVAudioUnitTypeMixer
    case kAudioUnitType_Panner: AVAudioUnitTypePanner
    case kAudioUnitType_Generator: AVAudioUnitTypeGenerator
    case kAudioUnitType_MIDIProcessor: AVAudioUnitTypeMIDIProcessor
    default: String(component.description.characters.dropFirst().prefix(4))
    }
  }
  /// The same as `typeName`.
  open var localizedTypeName: String { typeName }

  /// The version: two bytes, and two of one byte each.
  open var version: Int { Int(component.version) }
  /// The version in words, such as “1.0.0”.
  open var versionString: String {
    "\(version >> 16).\(version >> 8 & 0xFF).\(version & 0xFF)"
  }

  /// Type, subtype and manufacturer.
  open var audioComponentDescription: AudioComponentDescription {
    AudioToolbox.description(component)
  }
  /// The component as the C functions take it.
  open var audioComponent: AudioComponent { unsafe reference(of: component) }

  /// True for an instrument, and a plugin that hears MIDI.
  open var hasMIDIInput: Bool { component.hasMIDIInput }
  /// True for a plugin that writes MIDI.
  open var hasMIDIOutput: Bool { component.hasMIDIOutput }

  /// The same component is equal.
  open override func isEqual(_ object: Any?) -> Bool {
    (object as? AVAudioUnitComponent)?.component.number == component.number
  }
  /// The same for equal components.
  open override var hash: Int { component.number }
}

extension NSNotification.Name {
  /// Posted by the manager when LV2 plugins have come or gone; see `AVAudioUnitComponentManager`.
  public static let AVAudioUnitComponentManagerRegistrationsChanged = Self(
    "AVAudioUnitComponentManagerRegistrationsChangedNotification")
}

/// The components that there are.
///
/// Searches find the LV2 plugins that are installed when they are made. If bundles come or go in folders that were there
/// when the manager was first used, `registrationsChangedNotification` is posted about a second later, on a thread of the
/// library.
open class AVAudioUnitComponentManager: NSObject, @unchecked Sendable {
  private static let only = AVAudioUnitComponentManager()
  private var watch: BundleWatch?

  private override init() {
    super.init()
    ComponentList.shared.whenChanged {
      NotificationCenter.default.post(
        name: Self.registrationsChangedNotification, object: Self.shared())
    }
    watch = BundleWatch(BundleFolders()) { ComponentList.shared.findPlugins() }
  }

  /// The name of the notification that is posted when plugins have come or gone.
  public static var registrationsChangedNotification: NSNotification.Name {
    .AVAudioUnitComponentManagerRegistrationsChanged
  }

  /// Returns the one manager.
  open class func shared() -> AVAudioUnitComponentManager { only }

  /// Returns the components of a type, a subtype and a manufacturer. Zeros stand for anything.
  open func components(matching desc: AudioComponentDescription) -> [AVAudioUnitComponent] {
    ComponentList.shared.all(matching: AudioUnits.ComponentDescription(desc))
      .map(AVAudioUnitComponent.init)
  }

  /// Returns the components for which a predicate is true.
  open func components(matching predicate: NSPredicate) -> [AVAudioUnitComponent] {
    all.filter { predicate.evaluate(with: $0) }
  }

  /// Returns the components for which a function returns true. Setting its second argument to true ends the search.
  open func components(
    passingTest testHandler: (AVAudioUnitComponent, UnsafeMutablePointer<ObjCBool>) -> Bool
  ) -> [AVAudioUnitComponent] {
    var hasEnded = ObjCBool(false)
    var found: [AVAudioUnitComponent] = []
    for component in all {
      if unsafe testHandler(component, &hasEnded) { found.append(component) }
      if hasEnded.boolValue { break }
    }
    return found
  }

  private var all: [AVAudioUnitComponent] { components(matching: AudioComponentDescription()) }
}
