public import AudioToolbox
import AudioUnits
import Dispatch
import Foundation

extension AVAudioUnit {
  /// Makes a node of a component: an `AVAudioUnitEffect`, `AVAudioUnitTimeEffect`, `AVAudioUnitGenerator` or
  /// `AVAudioUnitMIDIInstrument` after its type, or else an `AVAudioUnit`.
  ///
  /// - Parameters:
  ///   - audioComponentDescription: Zeros stand for anything: the first component that fits is taken.
  ///   - options: `.loadOutOfProcess` lets an LV2 plugin run in a process of its own, confined, by the command `cuejack`:
  ///     a crash ends that process alone, and the node's input goes through from then on. The latency is that of the longest
  ///     render, and parameters take effect within 20 ms.
  ///   - completionHandler: Called on a thread of the library, with the node or an error in `NSOSStatusErrorDomain` that
  ///     names the component: -3000 if there is none, or the result code of the C functions.
  public class func instantiate(
    with audioComponentDescription: AudioComponentDescription,
    options: AudioComponentInstantiationOptions = [],
    completionHandler: @escaping @Sendable (AVAudioUnit?, (any Error)?) -> Void
  ) {
    DispatchQueue.global().async {
      do {
        completionHandler(try make(audioComponentDescription, options), nil)
      } catch { completionHandler(nil, error) }
    }
  }

  /// Makes a node of a component, or throws what the other form hands over.
  public class func instantiate(
    with audioComponentDescription: AudioComponentDescription,
    options: AudioComponentInstantiationOptions = []
  ) async throws -> AVAudioUnit {
    try await withCheckedThrowingContinuation { made in
      instantiate(with: audioComponentDescription, options: options) { node, error in
        if let node { made.resume(returning: node) } else { made.resume(throwing: error!) }
      }
    }
  }

  private static func make(
    _ description: AudioComponentDescription, _ options: AudioComponentInstantiationOptions
  ) throws -> AVAudioUnit {
    let made = try MadeUnit(description, isIsolated: options.contains(.loadOutOfProcess))
    switch made.component.description.type {
    case kAudioUnitType_Effect, kAudioUnitType_MusicEffect, kAudioUnitType_Panner:
      return AVAudioUnitEffect(made)
    case kAudioUnitType_FormatConverter: return AVAudioUnitTimeEffect(made)
    case kAudioUnitType_Generator: return AVAudioUnitGenerator(made)
    case kAudioUnitType_MusicDevice: return AVAudioUnitMIDIInstrument(made)
    default: return AVAudioUnit(made)
    }
  }

  /// Takes over the settings in a file, which is a property list as Apple's `.aupreset` files are: the dictionary of
  /// `kAudioUnitProperty_ClassInfo`.
  ///
  /// - Throws: An error in `NSOSStatusErrorDomain` that names the file and the reason.
  public func loadPreset(at url: URL) throws {
    func failure(_ status: OSStatus, _ reason: String) -> NSError {
      NSError(
        NSOSStatusErrorDomain, status,
        "AVAudioUnit.loadPreset: \(name) does not take \(url.path): \(reason)")
    }
    let file: [String: Any]?
    do {
      file =
        try unsafe PropertyListSerialization.propertyList(from: Data(contentsOf: url), format: nil)
        as? [String: Any]
    } catch { throw failure(kAudio_ParamError, error.localizedDescription) }
    guard let file else { throw failure(kAudio_ParamError, "it is no dictionary") }
    do throws(UnitError) { try core.restore(classInfo: file) } catch {
      throw failure(status(of: error), error.reason)
    }
  }
}
