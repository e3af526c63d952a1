// Labels: how they look in print, and that they stand where they belong.

import type { PluginState } from 'molstar/lib/mol-plugin/state';
import { Color } from 'molstar/lib/mol-util/color';
import { Hcl } from 'molstar/lib/mol-util/color/spaces/hcl';

type Data = NonNullable<PluginState.Snapshot['data']>;

const LABELS = new Set(['mvs-custom-label', 'mvs-annotation-label']);
const DARK = Color(0x20242a), LIGHT = Color(0xffffff);
const EDGE_WIDTH = 0.22;
// Chroma and lightness (0 to 100) beyond which a colour is one, and light enough to need a dark edge.
const LEAST_CHROMA = 20, LIGHT_FROM = 65;

let dressed = 0;

/** The state with its labels in dark letters with a light edge where the scene gives them no colour of their own. They are drawn
 * anew each time: the engine keeps a label where it was when only the atoms below it have moved. */
export function withLabels(data: Data): Data {
    const transforms = data.tree.transforms.map(transform => {
        if (!LABELS.has(transform.params?.type?.name)) return transform;
        dressed++;
        // The version stands for the parameters: with the same one, nothing would be drawn anew.
        return { ...transform, params: dress(transform.params), version: `${transform.version}-${dressed}` };
    });
    return { ...data, tree: { ...data.tree, transforms } };
}

function dress(params: any): object {
    const own: Color | undefined = params.colorTheme?.name === 'uniform' ? params.colorTheme.params?.value : undefined;
    const colored = own !== undefined && Hcl.fromColor(Hcl(), own)[1] > LEAST_CHROMA;
    const value = colored ? own : DARK;
    const borderColor = Hcl.fromColor(Hcl(), value)[2] > LIGHT_FROM ? DARK : LIGHT;
    const items = params.type.params?.items?.map((item: object) => ({ ...item, drawn: dressed }));
    return {
        ...params,
        type: { ...params.type, params: { ...params.type.params, ...(items && { items }), borderColor, borderWidth: EDGE_WIDTH } },
        colorTheme: { name: 'uniform', params: { value } },
    };
}
