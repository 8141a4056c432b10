import Foundation
import TestSupport
import Testing

/// Tests of NULL arguments where the headers do not allow them: `nulls.c` covers all functions. So does `calls.c`,
/// which makes random calls.
@Suite struct NullTests {
  /// Functions without pointer arguments.
  private static let without: Set = [
    "AudioConvertHostTimeToNanos", "AudioConvertNanosToHostTime", "AudioGetCurrentHostTime",
    "AudioGetHostClockFrequency", "AudioGetHostClockMinimumTimeDelta",
    "AudioHardwareDestroyAggregateDevice", "AudioHardwareUnload", "AudioObjectShow",
    "AudioServicesDisposeSystemSoundID", "AudioServicesPlayAlertSound",
    "AudioServicesPlaySystemSound", "AudioServicesRemoveSystemSoundCompletion",
    "AudioSessionRemovePropertyListener", "AudioSessionSetActive",
    "AudioSessionSetActiveWithFlags", "GetMacOSStatusCommentString", "GetMacOSStatusErrorString",
    "MIDIClientDispose", "MIDIDeviceGetEntity", "MIDIDeviceGetNumberOfEntities",
    "MIDIEndpointDispose", "MIDIEntityGetDestination", "MIDIEntityGetNumberOfDestinations",
    "MIDIEntityGetNumberOfSources", "MIDIEntityGetSource", "MIDIFlushOutput",
    "MIDIGetDestination", "MIDIGetDevice", "MIDIGetExternalDevice", "MIDIGetNumberOfDestinations",
    "MIDIGetNumberOfDevices", "MIDIGetNumberOfExternalDevices", "MIDIGetNumberOfSources",
    "MIDIGetSource", "MIDIPortDisconnectSource", "MIDIPortDispose", "MIDIRestart",
    "MIDIThruConnectionDispose", "getprogname",
  ]
  /// Functions that take any pointer, and give no status: `graphs.c` and `names.c` have them.
  private static let ofAnything: Set = [
    "AudioWorkIntervalCreate", "CAShow", "CAShowFile", "os_workgroup_parallel_create",
  ]
  /// Functions of the C library, which need strings and memory.
  private static let ofStrings: Set = ["reallocf", "strlcat", "strlcpy"]

  @Test func everyFunctionHasItsRow() throws {
    let program = repository.appendingPathComponent("Tests/API/APITests/Programs/nulls.c")
    let text = try String(contentsOf: program, encoding: .utf8)
    let row = /(?:PARAM|ILLEGAL|NO_TRACK|NO_UNIT|ROW)\(\s*\(?([A-Za-z_]+)\(/
    let rows = Set(text.matches(of: row).map { String($0.1) })
    expectTrue(rows.count > 80)
    let missing = try PublicHeaders.functions().subtracting(rows)
      .subtracting(Self.without).subtracting(Self.ofStrings)
      .subtracting(Self.ofAnything)
    expectTrue(missing.isEmpty, "nulls.c has no row for \(missing.sorted())")
  }

  @Test func everyFunctionIsAmongTheRandomCalls() throws {
    let program = repository.appendingPathComponent("Tests/API/APITests/Programs/calls.c")
    let text = try String(contentsOf: program, encoding: .utf8)
    let called = text.matches(of: /([A-Za-z_]+)\(/).map { String($0.1) }
    // These write to standard output.
    let missing = try PublicHeaders.functions().subtracting(["AudioObjectShow", "CAShow"])
      .subtracting(called)
    expectTrue(missing.isEmpty, "calls.c has no call of \(missing.sorted())")
  }
}
