/** Chat templates: text, with no engine behind it. */
