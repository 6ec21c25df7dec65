// SPDX-License-Identifier: BSD-2-Clause
// Dark or light: as the system has it, unless the reader wants the other one for this page.

import { byId, choices } from "./dom.js";

export function startTheme() {
	choices(byId("theme"), "theme", [["auto", "Auto"], ["light", "Light"], ["dark", "Dark"]], "auto",
		(theme) => {
			if (theme === "auto")
				delete document.documentElement.dataset.theme;
			else
				document.documentElement.dataset.theme = theme;
		});
}
