import Foundation

/// Scripts that check the look of a page; each returns a list of faults.
enum ConsoleLook {
  /// Interactive elements without a name.
  static let unnamed = """
    [...document.querySelectorAll("button, input, select, textarea, [role=tab], [role=grid], [role=img], progress, [tabindex='0']")]
      .filter((element) => element.checkVisibility())
      .filter((element) => {
        const byIds = (element.getAttribute("aria-labelledby") ?? "").split(" ").filter((id) => id !== "");
        const words = [
          element.ariaLabel, ...byIds.map((id) => document.getElementById(id)?.textContent),
          ...[...element.labels ?? []].map((label) => label.textContent),
          element.matches("input, select, textarea, progress") ? "" : element.textContent,
        ];
        return !words.some((text) => (text ?? "").trim() !== "");
      }).map((element) => element.outerHTML.slice(0, 200))
    """

  /// Texts with a contrast below 4.5 to 1 (WCAG 2.2, section 1.4.3).
  static let faint = """
    (() => {
      const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const parse = (color) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
        return [red, green, blue, alpha / 255];
      };
      const over = (top, below) => top.slice(0, 3).map((part, index) => part * top[3] + below[index] * (1 - top[3]));
      const light = (color) => color.slice(0, 3).map((part) => part / 255)
        .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
      const behind = (element) => {
        const layers = [];
        for (let at = element; at !== null; at = at.parentElement) {
          layers.push(parse(getComputedStyle(at).backgroundColor));
          if (layers.at(-1)[3] === 1) break;
        }
        return layers.reverse().reduce((below, top) => over(top, below), parse(getComputedStyle(document.body).backgroundColor));
      };
      const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
      const wrong = [];
      let seen = 0;
      for (const element of document.querySelectorAll("body *")) {
        if (!(hasText(element) || element.matches("input, textarea, select")) || !element.checkVisibility()) continue;
        if (element.matches("script, style, noscript, :disabled, option")) continue;
        seen += 1;
        const back = behind(element);
        for (const part of element.placeholder ? [null, "::placeholder"] : [null]) {
          const front = over(parse(getComputedStyle(element, part).color), back);
          const [more, less] = [light(front), light(back)].sort((a, b) => b - a);
          const contrast = (more + 0.05) / (less + 0.05);
          if (contrast < 4.5) wrong.push(`${contrast.toFixed(2)}${part ?? ""}: ${element.outerHTML.slice(0, 120)}`);
        }
      }
      return seen < 10 ? ["only " + seen + " texts were seen"] : wrong;
    })()
    """

  /// Differences in the look of the focused element from its look without focus.
  static let focusLook = """
    (() => {
      const look = (element) => {
        const { outlineStyle, outlineWidth, outlineColor, boxShadow } = getComputedStyle(element);
        return outlineStyle === "none" ? boxShadow : outlineStyle + outlineWidth + outlineColor + boxShadow;
      };
      const element = document.activeElement;
      if (element === document.body) return ["", true];
      const focused = look(element);
      element.blur();
      const plain = look(element);
      element.focus();
      return [element.id || element.outerHTML.slice(0, 100), focused !== plain];
    })()
    """

  /// Elements that extend beyond the side of the window.
  static let wide = """
    document.documentElement.scrollWidth <= innerWidth && document.body.scrollWidth <= innerWidth ? []
      : [...document.querySelectorAll("body *")].filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
        .map((element) => element.outerHTML.slice(0, 120))
    """
}

/// axe-core, which checks a page against WCAG, from the Python package that has its script.
enum Axe {
  /// The script; `nil` where `scripts/python-peers.sh page` has not installed it.
  static let script: String? = {
    guard let interpreter = PythonPeer.interpreter else { return nil }
    let libraries = URL(filePath: interpreter).deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "lib")
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: libraries.path)) ?? []
    return versions.sorted().lazy.compactMap { version in
      let path = "\(version)/site-packages/axe_playwright_python/axe.min.js"
      return try? String(contentsOf: libraries.appending(path: path), encoding: .utf8)
    }.first
  }()

  /// Violations of WCAG 2.0 to 2.2, levels A and AA, as rules with their elements.
  static let violations = """
    axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"],
    }).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`)))
    """
}
