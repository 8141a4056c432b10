import Foundation
import TestSupport
import Testing

/// The files that desktops, software centres and systemd read, as `make install` installs them, and the
/// numbers of the Debian packages. `make deb-check` builds and installs the packages.
@Suite(.tags(.program)) struct PackagingTests {
  private static func installed(_ path: String) throws -> String {
    try ProgramBuilds.shared.get().installation.appendingPathComponent(path).path
  }

  @Test func theDesktopFileIsValid() throws {
    let file = try Self.installed("share/applications/org.cuejack.session.desktop")
    let result = try run("desktop-file-validate", [file])
    expectTrue(result.status == 0 && result.output.isEmpty && result.errors.isEmpty, "\(result)")
    let icon = try Self.installed(
      "share/icons/hicolor/scalable/apps/org.cuejack.session.svg")
    expectTrue(text(of: URL(fileURLWithPath: icon)).contains("<svg "))
    expectTrue(text(of: URL(fileURLWithPath: file)).contains("\nIcon=org.cuejack.session\n"))
  }

  /// The help of `session set` names it.
  @Test func theSchemaOfSessionsIsInstalled() throws {
    let file = try Self.installed("share/cuejack/session.schema.json")
    let published = repository.appendingPathComponent("sessions/session.schema.json")
    try expectEqual(Data(contentsOf: URL(fileURLWithPath: file)), Data(contentsOf: published))
  }

  @Test func theAppStreamDataAreValid() throws {
    let file = try Self.installed("share/metainfo/org.cuejack.session.metainfo.xml")
    let result = try run("appstreamcli", ["validate", "--no-net", file])
    expectEqual(result.status, 0, "\(result)")
    expectTrue(!text(of: URL(fileURLWithPath: file)).contains("@"))
  }

  @Test func systemdReadsTheUnit() throws {
    try withTemporaryFolder { folder in
      let unit = try Self.installed("lib/systemd/user/cuejack-session@.service")
      expectTrue(
        text(of: URL(fileURLWithPath: unit)).contains("ExecStart=\(try Self.installed("bin"))/"))
      // It also runs the program and asks man for the page.
      let result = try run(
        "systemd-analyze", ["--user", "verify", unit],
        environment: [
          "XDG_RUNTIME_DIR": folder.path, "MANPATH": try Self.installed("share/man"),
        ])
      expectTrue(result.status == 0 && result.errors.isEmpty, "\(result)")
    }
  }

  @Test func thePackagesHaveTheVersionOfTheMakefile() throws {
    func contents(_ path: String) -> String { text(of: repository.appendingPathComponent(path)) }
    let makefile = contents("Makefile")
    let version = try require(makefile.firstMatch(of: #/(?m)^VERSION := (\S+)$/#)).output.1
    expectTrue(contents("Packaging/debian/changelog").hasPrefix("cuejack (\(version)-"))
    let metainfo = contents("Packaging/org.cuejack.session.metainfo.xml")
    expectTrue(metainfo.contains("<release version=\"@VERSION@\""))
    // Debian names the package of a library after its SONAME.
    let soname = try require(
      makefile.firstMatch(of: #/(?m)^SONAME := libAudioToolbox\.so\.(\d+)$/#))
    expectTrue(
      contents("Packaging/debian/control").contains(
        "\nPackage: libaudiotoolbox\(soname.output.1)\n"))
  }
}
