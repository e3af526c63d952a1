// Command lines that a shell reads as they are meant.

/** A text as one word of a shell. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_./+:@%,=-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** A command with its flags, a flag a line. */
export const commandLine = (head: string[], flags: string[][]) =>
  [head, ...flags].map((words) => words.map(shellFlag).join(' ')).join(' \\\n  ')

/** Flags are plain; their values are quoted where that is needed. */
const shellFlag = (word: string) => (/^--[a-z-]+(=(true|false))?$/.test(word) ? word : shellWord(word))
