import Control
import Foundation
import TestSupport
import Testing

/// A program under a session manager. The manager is `NSMServer`.
@Suite(.tags(.server, .program)) struct NSMTests {
  /// Runs `body` with a manager, the program that it has started, and an empty folder.
  private func withManaged(
    _ arguments: [String] = [], isAccepted: Bool = true,
    _ body: (NSMServer, ManagedProgram, URL) throws -> Void
  ) throws {
    let server = try NSMServer()
    defer { server.end() }
    try withTemporaryFolder { folder in
      let program = try ManagedProgram(arguments, environment: ["NSM_URL": server.url])
      if isAccepted { try server.accept() }
      try body(server, program, folder)
    }
  }

  @Test func theAnnouncementNamesTheProgramAsItWasStarted() throws {
    let server = try NSMServer()
    defer { server.end() }
    try withTemporaryFolder { folder in
      let link = folder.appendingPathComponent("another-name").path
      try FileManager.default.createSymbolicLink(
        atPath: link, withDestinationPath: builtProduct(named: "managed-session").path)
      let program = try ManagedProgram(
        ["--name", "Number"], environment: ["NSM_URL": server.url], executable: link)
      let arguments = try server.accept()
      expectEqual(
        arguments,
        [
          "Number", ":switch:dirty:progress:message:", link, "1", "1",
          "\(program.child.processIdentifier)",
        ])
      try program.wait(for: "managed by test manager")
    }
  }

  @Test func capabilitiesAreThoseOfTheSession() throws {
    let server = try NSMServer()
    defer { server.end() }
    let program = try ManagedProgram(
      ["--no-switch", "--window"], environment: ["NSM_URL": server.url])
    let announcement = try server.next(all: true)
    expectEqual(announcement.arguments[1], ":dirty:progress:message:optional-gui:")
    server.send("/reply", "/nsm/server/announce", "welcome", "test manager", ":optional-gui:")
    try expectEqual(server.next(all: true).path, "/nsm/client/gui_is_hidden")
    server.send("/nsm/client/show_optional_gui")
    try program.wait(for: "window true")
    server.send("/nsm/client/hide_optional_gui")
    try program.wait(for: "window false")
  }

  /// Without this capability of the manager, nobody could show the window again.
  @Test func aManagerWithoutWindowMessagesFindsTheWindowShown() throws {
    let server = try NSMServer()
    defer { server.end() }
    let program = try ManagedProgram(["--window"], environment: ["NSM_URL": server.url])
    try expectEqual(server.next().path, "/nsm/server/announce")
    server.send("/reply", "/nsm/server/announce", "welcome", "test manager", ":server-control:")
    try program.wait(for: "window true")
    try withTemporaryFolder { folder in
      server.send("/nsm/client/open", folder.path + "/a", "A song", "number.nA")
      let message = try server.next(all: true)
      expectEqual(message.path, "/nsm/client/message")
    }
  }

  @Test func aNewProjectIsCreatedAndAnExistingOneOpened() throws {
    try withManaged(["--name", "number", "--number", "7"]) { server, program, folder in
      let path = folder.appendingPathComponent("number.nABCD").path
      try expectEqual(server.open(path), .reply("/nsm/client/open", "A song is open"))
      try program.wait(for: "open new 0 number.nABCD")
      try expectEqual(server.save(), .reply("/nsm/client/save", "saved"))
      try expectEqual(String(contentsOfFile: path + ".txt", encoding: .utf8), "0")
      server.send("/nsm/client/session_is_loaded")
      try program.wait(for: "loaded")
    }
    try withManaged { server, program, folder in
      let path = folder.appendingPathComponent("number.nABCD").path
      try "42".write(toFile: path + ".txt", atomically: true, encoding: .utf8)
      try expectEqual(server.open(path).path, "/reply")
      try program.wait(for: "open existing 42 number.nABCD")
    }
  }

  @Test func progressMessagesAndDirtinessAreTold() throws {
    try withManaged(["--remote", "number"]) { server, program, folder in
      server.send("/nsm/client/open", folder.path + "/a", "A song", "number.nA")
      var messages: [NSMServer.Received] = []
      repeat { messages.append(try server.next(all: true)) } while messages.last?.path != "/reply"
      expectEqual(
        messages.map(\.path),
        [
          "/nsm/client/message", "/nsm/client/progress", "/nsm/client/progress", "/reply",
        ])
      try require(messages.count == 4)
      expectEqual(messages[0].arguments, ["1", "opening A song"])
      expectTrue(messages[1].arguments == ["0.5"] && messages[2].arguments == ["1.0"])
      try expectEqual(server.next(all: true).path, "/nsm/client/is_clean")
      let remote = try RemoteClient(
        of: OSCAddress(port: UInt16(program.value(after: "remote "))!), patience: 60)
      for number in [5, 6] { try remote.send(OSCMessage("/cuejack/number", .int(Int32(number)))) }
      // Told once, though the number has changed twice.
      try expectEqual(server.next(all: true).path, "/nsm/client/is_dirty")
      server.send("/nsm/client/save")
      try expectEqual(server.next(all: true).path, "/reply")
      try expectEqual(server.next(all: true).path, "/nsm/client/is_clean")
    }
  }

  @Test func aSwitchOpensTheOtherProject() throws {
    try withManaged { server, program, folder in
      for round in 1...3 {
        let path = folder.appendingPathComponent("number.n\(round)").path
        try "\(round)".write(toFile: path + ".txt", atomically: true, encoding: .utf8)
        try expectEqual(server.open(path, id: "number.n\(round)").path, "/reply")
        try program.wait(
          for: "\(round == 1 ? "open" : "switch") existing \(round) number.n\(round)")
      }
    }
    try withManaged(["--no-switch"]) { server, _, folder in
      try expectEqual(server.open(folder.path + "/a").path, "/reply")
      let answer = try server.open(folder.path + "/b")
      expectTrue(answer.path == "/error" && answer.arguments[1] == "-1", "\(answer)")
      try expectEqual(server.save().path, "/reply")
    }
  }

  @Test func errorsHaveTheirCodes() throws {
    try withManaged { server, _, folder in
      var answer = try server.save()
      expectTrue(answer.path == "/error" && answer.arguments[..<2] == ["/nsm/client/save", "-6"])
      for (path, id) in [
        ("relative", "a"), ("/a/../b", "a"), ("/", "a"), ("/a", ""), ("/a", "a:b"),
      ] {
        answer = try server.open(path, id: id)
        expectTrue(answer.path == "/error" && answer.arguments[..<2] == ["/nsm/client/open", "-1"])
      }
      let path = folder.appendingPathComponent("bad").path
      try "none".write(toFile: path + ".txt", atomically: true, encoding: .utf8)
      answer = try server.open(path)
      expectEqual(
        answer,
        .init(
          path: "/error", types: "sis",
          arguments: ["/nsm/client/open", "-9", "\(path).txt: no number"]))
      // A later open works.
      try expectEqual(server.open(folder.path + "/good").path, "/reply")
      answer = try server.open(path)
      expectEqual(answer.arguments[..<2], ["/nsm/client/open", "-9"])
      // After a switch that failed nothing is open.
      try expectEqual(server.save().arguments[..<2], ["/nsm/client/save", "-6"])
    }
    try withManaged(["--fail-save"]) { server, program, folder in
      try expectEqual(server.open(folder.path + "/a").path, "/reply")
      try expectEqual(server.save().arguments, ["/nsm/client/save", "-1", "the disk is full"])
      try program.wait(for: "log warning: /nsm/client/save: the disk is full")
    }
  }

  @Test func theReplyComesAfterTheWorkAndNothingElseRunsMeanwhile() throws {
    try withManaged(["--slow", "0.5"]) { server, program, folder in
      server.send("/nsm/client/open", folder.path + "/a", "A song", "number.nA")
      try program.wait(for: "open begins")
      var answer = try server.save()
      expectEqual(answer.arguments[..<2], ["/nsm/client/save", "-8"])
      answer = try server.open(folder.path + "/b")
      expectEqual(answer.arguments[..<2], ["/nsm/client/open", "-8"])
      expectTrue(!program.lines.contains { $0.hasPrefix("open new") })
      try expectEqual(server.next(), .reply("/nsm/client/open", "A song is open"))
      expectTrue(program.lines.contains("open new 0 number.nA"))
    }
  }

  @Test func malformedAndIllTypedMessagesAreIgnored() throws {
    try withManaged { server, program, folder in
      server.send("/nsm/client/open", folder.path + "/a", "A song")
      server.send("/nsm/client/open", folder.path + "/a", "A song", 7)
      server.send("/nsm/client/save", "now")
      server.send("/nsm/client/unknown")
      server.send("/nsm/client/show_optional_gui")
      server.send("/reply", "/nsm/server/announce", "welcome", "another manager", "")
      try server.send(bytes: Array("/nsm/client/save".utf8))
      try server.send(bytes: Array("/nsm/client/open\0\0\0\0,sss\0\0\0\0/a\0\0".utf8))
      try server.send(bytes: [])
      try expectEqual(server.open(folder.path + "/b").path, "/reply")
      let ignored = program.lines.filter { $0.contains("ignored") }
      expectEqual(ignored.count, 9, "\(ignored)")
      expectEqual(program.lines.filter { $0 == "open begins" }.count, 1)
    }
  }

  @Test func aSecondAnnouncementIsRefused() throws {
    try withManaged(["--twice"]) { server, program, folder in
      try program.wait(for: "again false")
      try expectEqual(server.open(folder.path + "/a").path, "/reply")
      expectTrue(
        program.lines.contains(
          "log error: the program announces itself to the session manager twice: refused"))
    }
  }

  @Test(arguments: [
    "osc.udp://127.0.0.1:1/", "osc.udp://localhost:1/", "osc.udp://127.0.0.1/", "nonsense",
    "osc.tcp://127.0.0.1:4000/", "osc.udp://no.such.host.invalid:4000/",
    "osc.udp://127.0.0.1:70000/",
  ])
  func withoutAServerTheProgramRunsUnmanaged(url: String) throws {
    let program = try ManagedProgram(environment: ["NSM_URL": url])
    try wait(for: "unmanaged") { program.lines.contains { $0.hasPrefix("unmanaged") } }
    expectTrue(program.lines.filter { $0.hasPrefix("log") }.count <= 1, "\(program.lines)")
    program.child.send(signal: SIGTERM)
    expectEqual(program.child.wait(seconds: 30), 0)
  }

  @Test func aServerThatDoesNotAnswerOrRefusesLeavesTheProgramUnmanaged() throws {
    try withManaged(["--impatient"], isAccepted: false) { server, program, folder in
      try program.wait(for: "unmanaged")
      expectEqual(program.lines.filter { $0.contains("no session manager at") }.count, 1)
      try expectEqual(server.next().path, "/nsm/server/announce")
      // It comes too late: the program may have opened clients by now.
      server.send("/reply", "/nsm/server/announce", "welcome", "test manager", "")
      let answer = try server.open(folder.path + "/a")
      expectTrue(answer.path == "/error" && answer.arguments[..<2] == ["/nsm/client/open", "-8"])
    }
    try withManaged(isAccepted: false) { server, program, _ in
      try expectEqual(server.next().path, "/nsm/server/announce")
      server.send("/error", "/nsm/server/announce", -2, "wrong version")
      try program.wait(for: "unmanaged")
      expectTrue(program.lines.contains { $0.contains("wrong version (error -2)") })
    }
  }

  /// A manager's URL often has the name of the machine, which may stand for another of its addresses.
  @Test(.enabled(if: OSCTests.outside != nil, "this machine has no address but the loopback"))
  func aServerMayBeNamedByAnyAddressOfThisMachine() throws {
    let server = try NSMServer()
    defer { server.end() }
    let port = try OSCAddress(url: server.url).port
    for host in [OSCTests.outside!, 0x7F00_0101] {
      let url = OSCAddress(host: host, port: port).url
      try withTemporaryFolder { folder in
        let program = try ManagedProgram(environment: ["NSM_URL": url])
        try server.accept()
        try expectEqual(server.open(folder.path + "/a").path, "/reply")
        program.child.end()
        server.forget()
      }
    }
  }

  @Test func anotherProgramIsNoManager() throws {
    try withManaged { server, program, folder in
      let client = try server.clientAddress()
      let stranger = try OSCSocket()
      try stranger.send(
        OSCMessage("/nsm/client/open", .string("/a"), .string("b"), .string("c")), to: client)
      try wait(for: "the refusal") {
        program.lines.contains { $0.contains("which is no session manager, is ignored") }
      }
      try expectEqual(server.open(folder.path + "/a").path, "/reply")
      expectEqual(program.lines.filter { $0 == "open begins" }.count, 1)
    }
  }

  @Test func aServerThatGoesAwayLeavesTheSessionOpen() throws {
    try withManaged(["--remote", "number"]) { server, program, folder in
      try expectEqual(server.open(folder.path + "/a").path, "/reply")
      let remote = try RemoteClient(
        of: OSCAddress(port: UInt16(program.value(after: "remote "))!), patience: 60)
      server.end()
      try remote.send(OSCMessage("/cuejack/number", .int(9)))
      try program.wait(for: "state managerGone")
      try remote.send(OSCMessage("/cuejack/number", .int(10)))
      try expectEqual(
        remote.values(of: "/cuejack/number"), [OSCMessage("/cuejack/number", .int(10))])
      expectEqual(program.lines.filter { $0.contains("has gone") }.count, 1)
      // LADISH level 1 still saves.
      program.child.send(signal: SIGUSR1)
      try program.wait(for: "saved 10")
      try expectEqual(String(contentsOfFile: folder.path + "/a.txt", encoding: .utf8), "10")
    }
  }

  @Test func SIGUSR1Saves() throws {
    try withManaged { server, program, folder in
      try expectEqual(server.open(folder.path + "/a").path, "/reply")
      for _ in 0..<3 {
        let before = program.lines.filter { $0 == "saved 0" }.count
        program.child.send(signal: SIGUSR1)
        try wait(for: "a save") { program.lines.filter { $0 == "saved 0" }.count > before }
      }
      try expectEqual(server.save().path, "/reply")
    }
  }

  @Test(arguments: ["announcing", "managed", "opening", "open", "saving", "switching", "gone"])
  func SIGTERMEndsTheProgramInEachState(state: String) throws {
    let isSlow = ["opening", "saving", "switching"].contains(state)
    try withManaged(isSlow ? ["--slow", "1"] : [], isAccepted: false) { server, program, folder in
      switch state {
      case "announcing": try expectEqual(server.next().path, "/nsm/server/announce")
      case "managed":
        try server.accept()
        try program.wait(for: "managed by test manager")
      case "opening":
        try server.accept()
        server.send("/nsm/client/open", folder.path + "/a", "A song", "number.nA")
        try program.wait(for: "open begins")
      default:
        try server.accept()
        try expectEqual(server.open(folder.path + "/a").path, "/reply")
        if state == "saving" {
          server.send("/nsm/client/save")
          try program.wait(for: "save begins")
        } else if state == "switching" {
          server.send("/nsm/client/open", folder.path + "/b", "A song", "number.nB")
          try program.wait(for: "switch begins")
        } else if state == "gone" {
          server.end()
        }
      }
      program.child.send(signal: SIGTERM)
      expectEqual(program.child.wait(seconds: 60), 0, "\(program.lines)")
      expectTrue(program.lines.contains("ended"))
    }
  }

  @Test func aHundredRoundsLeakNothing() throws {
    try withManaged { server, program, folder in
      func round(_ number: Int) throws {
        let path = folder.appendingPathComponent("number.n\(number)").path
        try expectEqual(server.open(path, id: "number.n\(number)").path, "/reply")
        try expectEqual(server.save().path, "/reply")
        expectTrue(FileManager.default.fileExists(atPath: path + ".txt"))
      }
      for number in 0..<10 { try round(number) }
      let (files, memory) = (program.count(of: "fd"), program.memory)
      for number in 10..<110 { try round(number) }
      try wait(for: "the ends of the threads") { program.count(of: "task") <= 5 }
      expectEqual(program.count(of: "fd"), files)
      expectTrue(program.memory < memory + 8192, "\(memory) KiB have become \(program.memory) KiB")
    }
  }

  @Test func theJACKClientIsOpenedAfterOpenUnderTheManagersName() throws {
    let jack = try JackDaemon()
    try withManaged(["--jack", jack.name]) { server, program, folder in
      try program.wait(for: "managed by test manager")
      expectTrue(!jack.hasClient(named: "number.nA"))
      try expectEqual(server.open(folder.path + "/a", id: "number.nA").path, "/reply")
      expectTrue(jack.hasClient(named: "number.nA"))
      try expectEqual(server.open(folder.path + "/b", id: "number.nB").path, "/reply")
      expectTrue(!jack.hasClient(named: "number.nA") && jack.hasClient(named: "number.nB"))
      program.child.send(signal: SIGTERM)
      expectEqual(program.child.wait(seconds: 60), 0)
      expectTrue(!jack.hasClient(named: "number.nB"))
    }
  }
}
