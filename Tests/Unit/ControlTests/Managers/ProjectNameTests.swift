import System
import TestSupport
import Testing

@testable import Control
@testable import Sessions

/// Names that session managers show, as names of sessions.
@Suite struct ProjectNameTests {
  @Test(arguments: [
    ("A song", "A song"), ("a: b/c “d”", "a: b/c “d”"), ("", "client"), ("  ", "client"),
    ("\u{1}\n", "client"), ("two\nlines\u{7F}", "two lines "),
    (String(systemName: [0x63, 0xE9]), "cé"),
    (String(repeating: "é", count: 150), String(repeating: "é", count: 100)),
  ])
  func aNameThatNoSessionCanHaveIsMapped(shown: String, name: String) throws {
    let project = ManagedProject(path: "/a", displayName: shown, clientID: "client")
    let given = RunningSession.name(for: project)
    expectEqual(given, name)
    let text = SessionStore.text(of: SessionDocument(name: given))
    try expectEqual(SessionStore.parse(text, path: "session.json").name, given)
  }
}
