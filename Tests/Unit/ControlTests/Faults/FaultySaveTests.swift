import CJack
import Control
import Foundation
import Sessions
import System
import TestSupport
import Testing

/// Saves of a running session that fail, and plugins that cannot save: nothing is lost.
@Suite(.tags(.server, .program), .serialized) struct FaultySaveTests {
  /// Each call on the session's files fails once, with each error, while the session saves. Then the session is killed
  /// and starts with what was acknowledged last. `make proof` has 300 rounds.
  @Test func aSaveThatFailsLosesNothing() throws {
    try withTemporaryFolder { folder in
      let run = try FaultyRun(in: folder, isolated: [false, true])
      try run.save()
      let rounds = proof == nil ? 30 : 300
      var (gain, failed): (Float, Int) = (0, 0)
      for round in 0..<rounds {
        let before = [
          try require(try run.count(ofPlugin: 0)), try require(try run.count(ofPlugin: 1)),
        ]
        gain = Float(-(round % 60) - 1)
        try run.set(gain: gain)
        let error = [ENOSPC, EDQUOT, EIO][round % 3]
        run.order(Int32(round % 30), error, isLasting: round % 2 == 1)
        var isSaved = false
        do {
          try run.save()
          isSaved = true
        } catch {
          failed += 1
          expectTrue("\(error)".contains("/cuejack/save"), "round \(round): \(error)")
        }
        run.order(nil)
        // The whole states of the last save, or of this one.
        let after = [try run.count(ofPlugin: 0), try run.count(ofPlugin: 1)]
        expectTrue(!after.contains(nil), "round \(round): \(after)")
        if !isSaved {
          let isKept = after[0] == before[0] && after[1] == before[1]
          // The rename was done, and nobody knows whether it is on disk.
          let isDone = after[0] ?? 0 > before[0] && after[1] ?? 0 > before[1]
          expectTrue(isKept || isDone, "round \(round): \(before), \(after)")
          if isKept { expectEqual(run.states.count, 2, "round \(round): \(run.states)") }
        }
        try expectEqual(run.document.buses[0].gain, Double(gain), "round \(round)")
        if round % 6 == 5 || proof != nil {
          try run.restart()
          try expectEqual(
            run.client.values(of: "/cuejack/buses/1/gain").first?.arguments, [.float(gain)])
          try run.save()
          // The plugins go on from the states with which they were started.
          try expectEqual(run.count(ofPlugin: 0), (after[0] ?? 0) + 1, "round \(round)")
          try expectEqual(run.count(ofPlugin: 1), (after[1] ?? 0) + 1, "round \(round)")
          expectEqual(run.states.count, 2, "round \(round): \(run.states)")
        }
      }
      expectTrue(failed > rounds / 2)
    }
  }

  @Test(arguments: [
    (FaultyRun.Mode.crashesInRun, "crashed (Segmentation fault)"),
    (.exitsInRun, "ended its process with code 0"),
    (.crashesInSave, "crashed (Segmentation fault) while it saves its state"),
    (.exitsInSave, "ended its process with code 0 while it saves its state"),
    (.refusesToSave, "its save function returns the error"),
  ])
  func aPluginThatCannotSaveKeepsItsState(mode: FaultyRun.Mode, reason: String) throws {
    try withTemporaryFolder { folder in
      let run = try FaultyRun(in: folder, isolated: [true, false])
      try run.save()
      try run.set(mode, ofPlugin: 0)
      if mode == .crashesInRun || mode == .exitsInRun {
        try wait(for: "the plugin's end") {
          run.program.lines.contains { $0.contains("passes unchanged") }
        }
      }
      try run.set(gain: -3)
      let remarks = try run.save()
      expectTrue(
        remarks.count == 1 && remarks[0].hasPrefix("buses[0].chain[0] (“p0”): ")
          && remarks[0].contains(reason) && remarks[0].hasSuffix("its last state is kept"),
        "\(remarks)")
      expectTrue(run.program.lines.contains { $0.contains("its last state is kept") })
      // The other plugin and the document are saved.
      expectTrue(try run.count(ofPlugin: 0) == 1 && run.count(ofPlugin: 1) == 2)
      try expectEqual(run.client.values(of: "/cuejack/dirty").first?.arguments, [.bool(false)])
      expectEqual(run.states, ["p0-1.lv2", "p1-2.lv2"])
      // A save of JACK's session manager has a copy of the last state, once for each save.
      for _ in 0..<3 {
        let copy = folder.appendingPathComponent("copy")
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
        let answers = try JackSessionTests.notify(JackSessionSave, copy, run.jack)
        expectTrue(answers.count == 1 && !answers[0].hasFailed)
        let path = copy.path + "/s-session/session"
        let states = try FileManager.default.contentsOfDirectory(atPath: path + "/plugins")
        expectEqual(states.count, 2, "\(states)")
        let state = try require(try SessionStore.read(path).document.buses[0].chain[0].state)
        expectTrue(
          text(of: URL(fileURLWithPath: "\(path)/\(state)/state.ttl")).contains("count-1-"))
      }
    }
  }

  /// A plugin prints to standard output or closes files in its own process, and the host still gets the
  /// answers of that process.
  @Test(arguments: [FaultyRun.Mode.printsInRun, .closesFilesInRun])
  func aPluginThatUsesFilesOfItsProcessIsSaved(mode: FaultyRun.Mode) throws {
    try withTemporaryFolder { folder in
      let run = try FaultyRun(in: folder, isolated: [true, true])
      try run.save()
      try run.set(mode, ofPlugin: 0)
      try run.set(gain: -3)
      try expectEqual(run.save(), [])
      expectTrue(try run.count(ofPlugin: 0) == 2 && run.count(ofPlugin: 1) == 2)
      expectEqual(run.states, ["p0-2.lv2", "p1-2.lv2"])
      // The plugin prints text without an end of line into the session's output. `restart` waits there for a line
      // of its own, which it does not find behind that text.
      if mode == .printsInRun { return }
      try run.restart()
      try expectEqual(run.client.values(of: "/cuejack/buses/1/gain").first?.arguments, [.float(-3)])
      try expectEqual(run.save(), [])
      try expectEqual(run.count(ofPlugin: 0), 3)
    }
  }

  /// The states of a session in a folder whose name is no UTF-8.
  @Test func aFolderMayHaveAnyName() throws {
    try withTemporaryFolder { folder in
      let name = String(systemName: Array("caf".utf8) + [0xE9])
      let run = try FaultyRun(in: folder, isolated: [false, true], named: name)
      try expectEqual(run.save(), [])
      expectEqual(run.states, ["p0-1.lv2", "p1-1.lv2"])
      try run.restart()
      try expectEqual(run.save(), [])
      expectEqual(run.states, ["p0-2.lv2", "p1-2.lv2"])
      for state in run.states {
        let text = System.text(ofSystemFile: "\(run.session)/plugins/\(state)/state.ttl") ?? ""
        expectTrue(text.contains("count-2-"), "\(state)")
      }
      // Nothing is written under another name.
      let others = names(inFolder: run.folder.path) ?? []
      expectEqual(others.count { $0.beginsWithBytes(of: "caf") }, 1, "\(others)")
    }
  }

  /// What can be done without the plugin is done, what needs it is refused, and the save ends with the plugin.
  @Test func aPluginThatHangsInASaveStopsNothingElse() throws {
    try withTemporaryFolder { folder in
      let run = try FaultyRun(in: folder, isolated: [true, true])
      try run.save()
      try run.set(.hangsInSave, ofPlugin: 0)
      let plugins = childProcesses(of: run.program.child.processIdentifier)
      let address = run.address
      let remarks = Monitor<[String]?>(nil)
      Thread.detachNewThread {
        let told = (try? RemoteClient(of: address).send(OSCMessage("/cuejack/save"))) ?? ["failed"]
        remarks.change { $0 = told }
      }
      try wait(for: "the other plugin's state") { run.states.contains("p1-2.lv2") }
      try run.set(gain: -7)
      try run.set(nil, ofPlugin: 1)
      try expectEqual(run.client.values(of: "/cuejack/buses/1/gain").first?.arguments, [.float(-7)])
      let error = #expect(throws: RemoteError.self) { try run.set(nil, ofPlugin: 0) }
      expectTrue("\(String(describing: error))".contains("<urn:faulty> does not answer"))
      try expectEqual(run.document.buses[0].chain[0].parameters["mode"], 11)
      expectNil(remarks.read { $0 })
      // The process of the first plugin was started first.
      kill(try require(plugins.min()), SIGKILL)
      let told = remarks.wait(seconds: 60) { $0 }
      expectTrue(
        told?.count == 1 && told?[0].contains("its last state is kept") == true, "\(told ?? [])")
      try expectEqual(run.document.buses[0].gain, -7)
      expectTrue(try run.count(ofPlugin: 0) == 1 && run.count(ofPlugin: 1) == 2)
      expectEqual(run.states, ["p0-1.lv2", "p1-2.lv2"])
    }
  }

  /// The command ends when the save is done.
  @Test func aSlowSaveIsAwaited() throws {
    try withTemporaryFolder { folder in
      let run = try FaultyRun(in: folder, isolated: [true])
      try run.set(.isSlowToSave, ofPlugin: 0)
      let result = try TestSupport.run(
        builtProduct(named: "cuejack").path, ["session", "save", "s"],
        environment: ["XDG_RUNTIME_DIR": folder.path])
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
      try expectEqual(run.count(ofPlugin: 0), 1)
      run.order(0)
      let failure = try TestSupport.run(
        builtProduct(named: "cuejack").path, ["session", "save", "s"],
        environment: ["XDG_RUNTIME_DIR": folder.path])
      expectTrue(failure.status == 1 && failure.errors.contains("No space left"), "\(failure)")
    }
  }

  /// A save that is killed leaves states that nobody names; the next start removes them.
  @Test func aKilledSaveLeavesNothing() throws {
    try withTemporaryFolder { folder in
      let run = try FaultyRun(in: folder, isolated: [true, false])
      try run.save()
      // A folder of the user.
      let own = run.session + "/plugins/p0-9.lv2"
      try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
      try run.set(.hangsInSave, ofPlugin: 0)
      try OSCSocket(reach: .loopback).send(OSCMessage("/cuejack/save"), to: run.address)
      try wait(for: "the new state") { run.states.contains("p1-2.lv2") }
      try run.restart()
      expectEqual(run.states, ["p0-1.lv2", "p0-9.lv2", "p1-1.lv2"])
      expectTrue(try run.count(ofPlugin: 0) == 1 && run.count(ofPlugin: 1) == 1)
    }
  }
}
