// The page's loop: takes commands of the driver one at a time, and answers each of them.

import { type Answer, answer, type Command, Failure, holdConnection, nextCommand } from './channel';
import { drawPicture } from './picture';
import { clearStage, openStage, type Stage } from './plugin';
import { loadScene } from './scene';
import { exportFrame } from './export';
import { showFrame } from './timeline';

let stage: Stage | undefined;
let lost = false;
// A part that the content policy has kept from the page must never become a picture without it; nothing else tells of some of them.
const refusal = new Promise<never>((_, reject) => {
    document.addEventListener('securitypolicyviolation', event =>
        reject(new Failure('REFERENCE_MISSING', `The scene refers to "${event.blockedURI}", which is no file of the job.`)));
});
refusal.catch(() => undefined);

const commands: Record<string, (stage: Stage, command: Command) => Promise<Answer>> = {
    load: async (stage, command) => ({ document: await loadScene(stage, command as any) }),
    picture: async (stage, command) => {
        await showFrame(stage, command.frame);
        return drawPicture(stage, command.picture);
    },
    export: async (stage, command) => {
        await showFrame(stage, command.frame);
        return exportFrame(stage, command as any);
    },
    clear: async stage => {
        await clearStage(stage);
        return { document: {} };
    },
};

async function perform(command: Command): Promise<Answer> {
    stage ??= await openStage(() => { lost = true; });
    const work = commands[command.name];
    if (!work) throw new Error(`there is no command ${command.name}`);
    const given = await Promise.race([work(stage, command), refusal]);
    if (lost) throw new Failure('CONTEXT_LOST', 'The drawing context was lost.', false);
    return given;
}

function described(error: unknown): Record<string, unknown> {
    if (error instanceof Failure) return { failure: { code: error.code, message: error.message, userInput: error.userInput } };
    const message = error instanceof Error ? error.stack ?? error.message : String(error);
    return { failure: { code: 'VIEWER_ERROR', message, userInput: false } };
}

async function main(): Promise<void> {
    holdConnection();
    for (;;) {
        const command = await nextCommand();
        if (!command) continue;
        const given = await perform(command).catch((error): Answer => ({ document: described(error) }));
        await answer(command, given);
    }
}

void main();
