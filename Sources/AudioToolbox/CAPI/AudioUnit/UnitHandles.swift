package import AudioUnits
package import CAudioToolbox
import CRealTime
import Glibc
import Synchronization
import System

/// A unit of ours: Foundation has a class of this name, too.
typealias Unit = AudioUnits.Unit

/// The audio units of this process by the numbers that C programs hold. Any thread that is not real time;
/// renders look units up through `cue_rt_enter_unit`.
final class UnitHandles: Sendable {
  static let shared = UnitHandles()

  private struct State {
    var units: [UInt: UnitHandle] = [:]
    var used: Set<UInt> = []
    var serial: UInt = 1 << 16
  }
  private let state = Mutex(State())
  /// Held while a unit of the library gets a number, so that it gets one only. Lock it before `state`.
  private let lending = Mutex<Void>(())

  /// Returns the number of a unit, which gets one if it has none.
  fileprivate func lend(_ unit: Unit, of component: UnitComponent) throws(AudioUnitError) -> UInt {
    try lending.withLock { _ throws(AudioUnitError) in
      let known = unit.handle.load(ordering: .relaxed)
      return known == 0 ? try add(unit, of: component).handle : known
    }
  }

  func add(_ unit: Unit, of component: UnitComponent) throws(AudioUnitError) -> UnitHandle {
    let count = UInt(cue_unit_gate_count)
    let handle = state.withLock { state -> UInt? in
      state.serial += 1
      for step in 0..<count {
        let index = (state.serial + step) % count
        if state.used.insert(index).inserted { return (state.serial * count + index) << 4 }
      }
      return nil
    }
    guard let handle else { throw .unit(.tooManyInstances) }
    let added = UnitHandle(unit, component, handle)
    unit.handle.store(handle, ordering: .relaxed)
    state.withLock { $0.units[handle] = added }
    unsafe cue_open_unit_gate(handle, UnsafeMutableRawPointer(unit.render))
    guard let foreign = unit as? ForeignUnit else { return added }
    do throws(UnitError) { try foreign.open() } catch {
      try? unsafe remove(AudioUnit(bitPattern: handle))
      throw .unit(error)
    }
    return added
  }

  /// Returns the number of a unit; nil if it has none.
  func reference(of unit: Unit) -> AudioUnit? {
    unsafe AudioUnit(bitPattern: unit.handle.load(ordering: .relaxed))
  }

  func unit(_ reference: AudioUnit?) throws(AudioUnitError) -> UnitHandle {
    let handle = UInt(bitPattern: reference)
    guard let unit = state.withLock({ $0.units[handle] }) else { throw .noSuchUnit }
    return unit
  }

  /// Removes a unit and ends it.
  func remove(_ reference: AudioUnit?) throws(AudioUnitError) {
    let handle = UInt(bitPattern: reference)
    guard let unit = state.withLock({ $0.units.removeValue(forKey: handle) }) else {
      throw .noSuchUnit
    }
    cue_close_unit_gate(handle)
    unit.dispose()
    let deadline = HostTime.now + 2_000_000_000
    while cue_unit_calls(handle) > 0, !unit.unit.isInside, HostTime.now < deadline { usleep(100) }
    // A call that goes on may still use the unit.
    if cue_unit_calls(handle) > 0 { return keepForGood(unit) }
    state.withLock { _ = $0.used.remove((handle >> 4) % UInt(cue_unit_gate_count)) }
  }
}

// The units that classes of AVFAudio own.
extension AudioUnits.Unit {
  /// Returns the unit as the C functions take it, until `disposeWithReference`.
  ///
  /// - Parameter component: The unit's own.
  package func reference(of component: UnitComponent) throws(UnitError) -> AudioUnit {
    do throws(AudioUnitError) {
      let number = try UnitHandles.shared.lend(self, of: component)
      guard let reference = unsafe AudioUnit(bitPattern: number) else {
        throw .unit(.tooManyInstances)
      }
      return unsafe reference
    } catch {
      if case .unit(let error) = error { throw error }
      throw .failedInitialization(error.reason)
    }
  }

  /// Ends the unit. The C functions do not know it afterwards.
  package func disposeWithReference() {
    guard let reference = unsafe UnitHandles.shared.reference(of: self) else { return dispose() }
    try? unsafe UnitHandles.shared.remove(reference)
  }
}
