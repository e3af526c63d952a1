// How the page and its driver talk: the page asks for the next command and posts the answer. The driver knows that the page is
// alive by a connection that the page holds open, and that breaks when the tab crashes.

/** A command of the driver. Members beside id and name are the command's own. */
export interface Command {
    id: number;
    name: string;
    [member: string]: any;
}

/** An answer: a document, and bytes that belong to it. */
export interface Answer {
    document: Record<string, unknown>;
    bytes?: Uint8Array<ArrayBuffer>;
}

/** A failure that is understood. userInput tells whether another scene would help. */
export class Failure extends Error {
    constructor(readonly code: string, message: string, readonly userInput = true) {
        super(message);
    }
}

const NO_COMMAND_YET = 204;

export async function nextCommand(): Promise<Command | undefined> {
    const response = await fetch('command', { cache: 'no-store' });
    if (response.status === NO_COMMAND_YET) return undefined;
    if (!response.ok) throw new Error(`the driver answered ${response.status}`);
    return response.json();
}

/** Posts an answer as the length of its document (32 bits, little endian), the document as JSON, and the bytes. */
export async function answer(command: Command, given: Answer): Promise<void> {
    const document = new TextEncoder().encode(JSON.stringify(given.document));
    const length = new DataView(new ArrayBuffer(4));
    length.setUint32(0, document.length, true);
    const body = new Blob([length.buffer, document, ...(given.bytes ? [given.bytes] : [])]);
    await fetch(`answer/${command.id}`, { method: 'POST', body });
}

export function holdConnection(): void {
    new EventSource('alive');
}
