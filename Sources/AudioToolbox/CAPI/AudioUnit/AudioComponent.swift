package import AudioUnits
public import CAudioToolbox
import CFork
import CRealTime
import CoreFoundation
import RealTime

// The functions of AudioComponent.h. The header documents each function.

/// Numbers of components are their indexes in the list, times 16: they look like aligned pointers.
private func reference(_ component: UnitComponent) -> AudioComponent? {
  unsafe AudioComponent(bitPattern: UInt(component.number + 1) << 4)
}

/// Returns a component as the C functions take it.
package func reference(of component: UnitComponent) -> AudioComponent {
  guard let reference = unsafe reference(component) else {
    preconditionFailure("numbers of components are not negative")
  }
  return unsafe reference
}

/// Returns the component that a description means first; nil if there is none.
package func component(_ description: AudioComponentDescription) -> UnitComponent? {
  ComponentList.shared.next(after: nil, matching: AudioUnits.ComponentDescription(description))
}

private func component(_ reference: AudioComponent?) throws(AudioUnitError) -> UnitComponent {
  let number = UInt(bitPattern: reference)
  guard number % 16 == 0, number > 0,
    let component = ComponentList.shared.component(Int(number >> 4) - 1)
  else { throw .noSuchComponent }
  return component
}

extension AudioUnits.ComponentDescription {
  package init(_ description: AudioComponentDescription) {
    self.init(
      type: description.componentType, subtype: description.componentSubType,
      manufacturer: description.componentManufacturer)
  }
}

/// Returns the next component that a description means; nil if there are no more.
@c @implementation
public func AudioComponentFindNext(
  _ inComponent: AudioComponent?, _ inDesc: UnsafePointer<AudioComponentDescription>
) -> AudioComponent? {
  guard cue_fork_may_call(), unsafe !hasNull([inDesc]) else { return nil }
  let wanted = unsafe AudioUnits.ComponentDescription(inDesc.pointee)
  var last: Int?
  if unsafe inComponent != nil {
    guard let present = unsafe try? component(inComponent) else { return nil }
    last = present.number
  }
  return unsafe ComponentList.shared.next(after: last, matching: wanted).flatMap {
    unsafe reference($0)
  }
}

/// Returns how many components a description means.
@c @implementation
public func AudioComponentCount(_ inDesc: UnsafePointer<AudioComponentDescription>) -> UInt32 {
  guard cue_fork_may_call(), unsafe !hasNull([inDesc]) else { return 0 }
  let wanted = unsafe AudioUnits.ComponentDescription(inDesc.pointee)
  return UInt32(ComponentList.shared.all(matching: wanted).count)
}

/// Copies a component's name, which the caller releases.
///
/// The header's type of `outName` has no counterpart in Swift that a C function can have.
@c(AudioComponentCopyName)
public func copyComponentName(
  _ inComponent: AudioComponent, _ outName: UnsafeMutablePointer<UnsafeRawPointer?>
) -> OSStatus {
  unsafe answer("AudioComponentCopyName", needs: outName) { () throws(AudioUnitError) in
    let name = unsafe try component(inComponent).name
    unsafe outName.pointee = UnsafeRawPointer(Unmanaged.passRetained(name.cfString).toOpaque())
  }
}

/// Stores a component's description.
@c @implementation
public func AudioComponentGetDescription(
  _ inComponent: AudioComponent, _ outDesc: UnsafeMutablePointer<AudioComponentDescription>
) -> OSStatus {
  unsafe answer("AudioComponentGetDescription", needs: outDesc) { () throws(AudioUnitError) in
    unsafe outDesc.pointee = description(unsafe try component(inComponent))
  }
}

package func description(_ component: UnitComponent) -> AudioComponentDescription {
  AudioComponentDescription(
    componentType: component.description.type, componentSubType: component.description.subtype,
    componentManufacturer: component.description.manufacturer, componentFlags: 0,
    componentFlagsMask: 0)
}

/// Stores a component's version.
@c @implementation
public func AudioComponentGetVersion(
  _ inComponent: AudioComponent, _ outVersion: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe answer("AudioComponentGetVersion", needs: outVersion) { () throws(AudioUnitError) in
    unsafe outVersion.pointee = unsafe try component(inComponent).version
  }
}

/// Makes a unit and its handle.
private func make(_ reference: AudioComponent?) throws(AudioUnitError) -> AudioUnit? {
  let component = unsafe try component(reference)
  let unit = try onUnit(component.makeUnit())
  return unsafe AudioUnit(
    bitPattern: try UnitHandles.shared.add(unit, of: component).handle)
}

extension UnitComponent {
  /// Makes a unit, on the default device if it is an output unit.
  package func makeUnit() throws(UnitError) -> AudioUnits.Unit {
    try make { HardwareObjects.shared.device(ofServer: HardwareObjects.standardName).device }
  }
}

/// Makes an audio unit.
@c @implementation
public func AudioComponentInstanceNew(
  _ inComponent: AudioComponent, _ outInstance: UnsafeMutablePointer<AudioComponentInstance?>
) -> OSStatus {
  unsafe answer("AudioComponentInstanceNew", needs: outInstance) { () throws(AudioUnitError) in
    unsafe outInstance.pointee = nil
    unsafe outInstance.pointee = unsafe try make(inComponent)
  }
}

/// Stops an audio unit and frees it.
@c @implementation
public func AudioComponentInstanceDispose(_ inInstance: AudioComponentInstance?) -> OSStatus {
  guard unsafe inInstance != nil else { return noErr }
  return answer("AudioComponentInstanceDispose") { () throws(AudioUnitError) in
    unsafe try UnitHandles.shared.remove(inInstance)
  }
}

/// Returns the component of an audio unit.
@c @implementation
public func AudioComponentInstanceGetComponent(
  _ inInstance: AudioComponentInstance
) -> AudioComponent! {
  guard let unit = unsafe try? UnitHandles.shared.unit(inInstance) else { return nil }
  return unsafe reference(unit.component)
}

/// Adds a component of the app.
///
/// The header's types of functions with any arguments have no counterparts in Swift.
@c(AudioComponentRegister)
public func registerComponent(
  _ inDesc: UnsafePointer<AudioComponentDescription>, _ inName: UnsafeRawPointer?,
  _ inVersion: UInt32,
  _ inFactory: UnsafeRawPointer?
) -> AudioComponent? {
  guard unsafe !hasNull([inDesc]), let inName = unsafe inName, let factory = unsafe inFactory else {
    return nil
  }
  let description = unsafe AudioUnits.ComponentDescription(inDesc.pointee)
  guard description.type != 0, description.subtype != 0, description.manufacturer != 0 else {
    return nil
  }
  typealias Factory =
    @convention(c) (UnsafePointer<AudioComponentDescription>)
    -> UnsafeMutablePointer<cue_foreign_interface>?
  let make = unsafe unsafeBitCast(factory, to: Factory.self)
  let component = ComponentList.shared.register(
    unsafe ForeignComponent(
      make: { wanted in
        var wanted = AudioComponentDescription(
          componentType: wanted.type, componentSubType: wanted.subtype,
          componentManufacturer: wanted.manufacturer, componentFlags: 0, componentFlagsMask: 0)
        return unsafe make(&wanted)
      },
      encode: { format in
        unsafe withUnsafeBytes(of: format.streamDescription) { unsafe Array($0) }
      },
      decode: { bytes in
        unsafe BusFormat(
          bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: AudioStreamBasicDescription.self) })
      }), description,
    name: unsafe Unmanaged<CFString>.fromOpaque(inName).takeUnretainedValue().string,
    version: inVersion)
  return unsafe reference(component)
}

// MARK: Before 10.6

/// Returns the next component, as AudioComponentFindNext does.
@c @implementation
public func FindNextComponent(
  _ aComponent: Component?, _ looking: UnsafeMutablePointer<CAudioToolbox.ComponentDescription>
) -> Component? {
  unsafe AudioComponentFindNext(aComponent, looking)
}

/// Returns how many components a description means.
@c @implementation
public func CountComponents(
  _ looking: UnsafeMutablePointer<CAudioToolbox.ComponentDescription>
) -> Int {
  unsafe Int(AudioComponentCount(looking))
}

/// Makes an audio unit; nil if that fails.
@c @implementation
public func OpenComponent(_ aComponent: Component) -> ComponentInstance? {
  var instance: AudioComponentInstance?
  _ = unsafe AudioComponentInstanceNew(aComponent, &instance)
  return unsafe instance
}

/// Returns a status as one of 16 bits, which older functions return.
private func short(_ status: OSStatus) -> OSErr { OSErr(exactly: status) ?? OSErr(paramErr) }

/// Makes an audio unit.
@c @implementation
public func OpenAComponent(
  _ aComponent: Component, _ ci: UnsafeMutablePointer<ComponentInstance?>
) -> OSErr {
  unsafe short(AudioComponentInstanceNew(aComponent, ci))
}

/// Stops an audio unit and frees it.
@c @implementation
public func CloseComponent(_ aComponentInstance: ComponentInstance?) -> OSErr {
  unsafe short(AudioComponentInstanceDispose(aComponentInstance))
}

/// Stores a component's description.
@c @implementation
public func GetComponentInfo(
  _ aComponent: Component, _ cd: UnsafeMutablePointer<CAudioToolbox.ComponentDescription>?,
  _ componentName: Handle?, _ componentInfo: Handle?, _ componentIcon: Handle?
) -> OSErr {
  let status = answer("GetComponentInfo") { () throws(AudioUnitError) in
    let component = unsafe try component(aComponent)
    if let cd = unsafe cd { unsafe cd.pointee = description(component) }
  }
  return short(status)
}
