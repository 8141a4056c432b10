import AudioToolbox
import AudioUnits
import Foundation
import PluginHost

/// An audio unit for a node, and its component.
@safe
struct MadeUnit {
  let component: UnitComponent
  let unit: AudioUnits.Unit
  let reference: AudioUnit

  /// - Parameter isIsolated: True for an LV2 plugin in a process of its own.
  /// - Throws: An error with the result code of the C functions, which names the component.
  init(_ component: UnitComponent, isIsolated: Bool = false) throws {
    self.component = component
    if component.drivesGraphs {
      throw NSError(
        NSOSStatusErrorDomain, kAudio_ParamError,
        "\(component.name) is no node: an engine has its inputNode and its outputNode")
    }
    do throws(UnitError) {
      unit = try component.makeUnit()
      if isIsolated, let plugin = unit as? LV2Unit {
        guard let program = IsolationProgram.installed else {
          throw .unsupported("the command “cuejack”, which runs plugins, is not in PATH")
        }
        plugin.isolate(by: program)
      }
      unsafe reference = try unit.reference(of: component)
    } catch {
      throw NSError(
        NSOSStatusErrorDomain, status(of: error),
        "\(component.name) cannot be made: \(error.reason)")
    }
  }

  /// - Throws: An error with the code -3000 if there is no such component.
  init(_ description: AudioComponentDescription, isIsolated: Bool = false) throws {
    guard let found = AudioToolbox.component(description) else {
      throw NSError(
        NSOSStatusErrorDomain, OSStatus(invalidComponentID),
        "there is no component \(AudioUnits.ComponentDescription(description).characters)")
    }
    try self.init(found, isIsolated: isIsolated)
  }

  /// Makes a unit of one of several types. Ends the program if there is none.
  init(_ description: AudioComponentDescription, for name: String, types: [UInt32]) {
    let known = AudioUnits.ComponentDescription(description)
    guard types.contains(description.componentType) else {
      refuse("\(name): \(known.characters) has another type than this class")
    }
    do { try self.init(description) } catch {
      refuse("\(name): \((error as NSError).localizedDescription)")
    }
  }

  /// Makes a unit of the library. Ends the program if its plugin is not installed.
  init(_ kind: UnitKind, for name: String) {
    do { try self.init(kind.component) } catch {
      refuse("\(name): \((error as NSError).localizedDescription)")
    }
  }
}
