// The charts that print and read well without colours. The one for long series, with its library, is imported from './time-series'.

export { Heatmap, type HeatCell, letters } from './heatmap'
export { Histogram } from './histogram'
export { Matrix } from './matrix'
