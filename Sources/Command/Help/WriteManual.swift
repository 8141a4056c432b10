import ArgumentParser
import FoundationEssentials

/// `cuejack manual`: writes the manual pages. `make install` runs it.
struct WriteManual: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manual", abstract: "Write the manual pages into a folder.", shouldDisplay: false)

  @Argument(help: "The folder.", completion: .directory)
  var folder: String

  func run() throws {
    for page in ManualPage.all(of: try ToolDescription.own()) {
      try Data(page.text.utf8).write(to: URL(filePath: "\(folder)/\(page.fileName)"))
    }
  }
}
