import ArgumentParser
import FoundationEssentials

/// `cuejack manual`: writes the manual pages, or the tables of options in a page of Markdown.
/// `make install` and `make tables` run it.
struct WriteManual: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manual", abstract: "Write the manual pages.", shouldDisplay: false)

  @Argument(help: "The folder of the pages, or a page of Markdown whose tables to write anew.")
  var path: String

  func run() throws {
    let tool = try ToolDescription.own()
    if path.hasSuffix(".md") {
      let page = URL(filePath: path)
      let text = String(decoding: try Data(contentsOf: page), as: UTF8.self)
      try Data(OptionTables.written(into: text, from: tool).utf8).write(to: page)
    } else {
      for page in ManualPage.all(of: tool) {
        try Data(page.text.utf8).write(to: URL(filePath: "\(path)/\(page.fileName)"))
      }
    }
  }
}
